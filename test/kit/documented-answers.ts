import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { randomUUID } from 'node:crypto';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { brotliDecompressSync } from 'node:zlib';
import type { ValidateFunction } from 'ajv/dist/2020.js';
import type {
  ApiDocument,
  HeaderObject,
  Operation,
  Reference,
  Response,
} from '../../src/platform/api-docs/index.js';
import { allRoutes, operationsOf, schemaCompiler } from './api-document.js';

/** Statuses that any request can get; the document lists them once, in its description. */
const OF_TRANSPORT = new Set([408, 414, 415, 417, 431, 500]);
/** Errors of requests that are refused before routing. */
const MALFORMED =
  /^\{"error":"(?:a Host header is required|the query is not UTF-8)"\}$|400: the query is not UTF-8\./;

const problems = new Set<string>();
const seen = new Set<string>();

/** Checks every answer of a service that `start` creates against docs/openapi.json. */
export async function watchingAnswers<T>(start: () => Promise<T>): Promise<T> {
  const watch = (message: unknown): void => {
    const { fastify } = message as { fastify: FastifyInstance };
    fastify.addHook('onSend', (request, reply, payload, done) => {
      overhear(request, reply, payload);
      done();
    });
  };
  subscribe('fastify.initialization', watch);
  try {
    return await start();
  } finally {
    unsubscribe('fastify.initialization', watch);
  }
}

/** Records an answer that no hook sees. */
export function sawAnswer(operationId: string, status: number): void {
  seen.add(`${operationId} ${status}`);
}

/** @throws with all undocumented answers since the last call */
export function expectNoProblems(): void {
  const found = [...problems];
  problems.clear();
  if (found.length > 0) throw new Error(`Not as docs/openapi.json has it:\n${found.join('\n')}`);
}

/** Writes the answers seen since the last call for the reporter, which counts them after the run. */
export function leaveSeen(): void {
  const directory = process.env.SEEN_ANSWERS;
  if (directory) writeFileSync(join(directory, randomUUID()), [...seen].join('\n'));
  seen.clear();
}

function overhear(request: FastifyRequest, reply: FastifyReply, payload: unknown): void {
  const found = operationOf(request);
  if (!found) return;
  const { statusCode: status } = reply;
  const headers = reply.getHeaders();
  const answer = { request, status, headers, body: null as Buffer | null };
  if (!(payload instanceof Readable)) {
    const bytes = Buffer.from((payload ?? '') as string);
    const body = headers['content-encoding'] === 'br' ? brotliDecompressSync(bytes) : bytes;
    judge(found, { ...answer, body });
    return;
  }
  const isJson = mediaType(headers['content-type']) === 'application/json';
  if (!isJson || request.method === 'HEAD') {
    judge(found, answer);
    return;
  }
  const chunks: Buffer[] = [];
  payload.on('data', (chunk: Buffer | string) => chunks.push(Buffer.from(chunk)));
  payload.once('end', () => judge(found, { ...answer, body: Buffer.concat(chunks) }));
}

interface Answer {
  readonly request: FastifyRequest;
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  /** Null when it was not inspected. */
  readonly body: Buffer | null;
}

interface Known {
  readonly operation: Operation;
  readonly method: string;
  readonly path: string;
}

function judge({ operation, method, path }: Known, { request, status, headers, body }: Answer): void {
  const isHead = request.method === 'HEAD';
  const response = operation.responses[String(status)];
  const fault = (what: string): void => {
    const text = body?.subarray(0, 500).toString() ?? '';
    problems.add(`${method.toUpperCase()} ${path} answered ${status}: ${what} – ${text}`);
  };
  if (!response) {
    const isMalformed = status === 400 && MALFORMED.test(body?.toString() ?? '');
    if (!OF_TRANSPORT.has(status) && !isMalformed) fault('a status that is not documented');
    return;
  }
  if (!isHead) seen.add(`${operation.operationId} ${status}`);
  for (const problem of headerProblems(response, headers)) fault(problem);
  const type = mediaType(headers['content-type']);
  const content = response.content ?? {};
  if (isHead) return;
  if (Object.keys(content).length === 0) {
    if (body && body.length > 0) fault('a body where none is documented');
    return;
  }
  if (!(type in content)) {
    fault(`the content type ${type}`);
    return;
  }
  const schema = content[type]?.schema;
  if (!schema || body === null || type !== 'application/json') return;
  const validate = compiled(schema);
  if (!validate(parsed(body))) fault(problemsOf(validate));
}

function headerProblems({ headers = {} }: Response, sent: Readonly<Record<string, unknown>>): string[] {
  return Object.entries(headers).flatMap(([name, header]) => {
    const { schema, required } = resolved(header);
    const value = sent[name.toLowerCase()];
    if (value === undefined) return required ? [`no header ${name}`] : [];
    const validate = compiled(schema);
    return validate([value].flat().map(String).join(', ')) ? [] : [`header ${name}: ${problemsOf(validate)}`];
  });
}

function resolved(header: HeaderObject | Reference): HeaderObject {
  if (!('$ref' in header)) return header;
  return loaded().components.headers[header.$ref.slice(header.$ref.lastIndexOf('/') + 1)]!;
}

const problemsOf = ({ errors }: ValidateFunction): string =>
  (errors ?? [])
    .map(({ instancePath, message, params }) => `${instancePath || '/'} ${message} ${JSON.stringify(params)}`)
    .join(', ');

const mediaType = (header: unknown): string =>
  typeof header === 'string' ? (header.split(';')[0] ?? '') : '';

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString());
  } catch {
    return undefined;
  }
}

let document: ApiDocument | undefined;
let compile: ((schema: object) => ValidateFunction) | undefined;
const validators = new Map<object, ValidateFunction>();
const known = new Map<string, Known>();

/** Compiles each schema at most once per process. */
function compiled(schema: object): ValidateFunction {
  let validate = validators.get(schema);
  if (!validate) {
    compile ??= schemaCompiler(loaded());
    validators.set(schema, (validate = compile(schema)));
  }
  return validate;
}

function loaded(): ApiDocument {
  if (document) return document;
  document = allRoutes();
  for (const one of operationsOf(document)) known.set(`${one.method} ${one.path}`, one);
  return document;
}

/** Undefined for unrouted addresses and undocumented routes. */
function operationOf(request: FastifyRequest): Known | undefined {
  loaded();
  const { url } = request.routeOptions;
  if (url === undefined) return undefined;
  const method = request.method === 'HEAD' ? 'get' : request.method.toLowerCase();
  const template = url.replace(/:(\w+)/g, '{$1}').replace(/\*$/, '{path}');
  const { '*': rest = '' } = request.params as { '*'?: string };
  // Another spelling of a path below `*` is another address.
  if (rest !== '' && request.originalUrl.split('?')[0] !== template.replace('{path}', rest))
    return known.get(`${method} ${template}`);
  const mounted = `${request.method.toLowerCase()} ${template.replace('{path}', rest)}`; // mounted routes have no HEAD
  return known.get(`${method} ${template}`) ?? known.get(mounted);
}
