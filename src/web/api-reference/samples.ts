import type { ApiDocument, Operation, Schema } from '../../platform/api-docs/index.js';
import type { ListedOperation } from './api-documents.js';

/** A sample value for a schema: optional properties are omitted, and a string is its name. */
export function sampleOf(schema: Schema, schemas: ApiDocument['components']['schemas'], name = '…'): unknown {
  const { $ref, type, items, properties, required } = schema;
  if (typeof $ref === 'string')
    return sampleOf(schemas[$ref.slice($ref.lastIndexOf('/') + 1)] ?? {}, schemas, name);
  if (Array.isArray(schema.enum)) return schema.enum[0];
  if ('const' in schema) return schema.const;
  if (type === 'array') return [sampleOf(items as Schema, schemas, name)];
  if (type === 'integer' || type === 'number') return 0;
  if (type === 'boolean') return false;
  if (type !== 'object') return `<${name}>`;
  const wanted = Object.entries((properties ?? {}) as Record<string, Schema>).filter(([key]) =>
    (required as string[] | undefined)?.includes(key),
  );
  return Object.fromEntries(wanted.map(([key, value]) => [key, sampleOf(value, schemas, key)]));
}

/** Text with marked variables, so that each language can write them in its own way. */
type Template = (variable: (name: string) => string) => string;

type Header = readonly [name: string, value: Template];

/** The request that the samples of all languages are written from. */
export interface SampleRequest {
  readonly method: string;
  readonly url: Template;
  readonly headers: readonly Header[];
  /** JSON, or undefined for none or bytes. */
  readonly json: unknown;
  readonly sendsBytes: boolean;
  readonly answers: 'json' | 'text' | 'bytes' | 'nothing';
  readonly isWebSocket: boolean;
}

export function requestOf(
  { method, path, operation }: ListedOperation,
  document: ApiDocument,
): SampleRequest {
  const { parameters = [], requestBody, responses } = operation;
  const required = parameters.filter((parameter) => parameter.required);
  const query = required.filter((one) => one.in === 'query').map(({ name }) => name);
  const [[type, content] = []] = Object.entries(requestBody?.content ?? {});
  const isJson = type === 'application/json';
  return {
    method,
    url: (variable) =>
      variable('SYNC_URL') +
      path.replace(/\{(\w+)\}/g, (_, name: string) => variable(variableOf(name))) +
      query.map((name, index) => `${index === 0 ? '?' : '&'}${name}=${variable(variableOf(name))}`).join(''),
    headers: [
      ...secretsOf(operation),
      ...required
        .filter((one) => one.in === 'header')
        .map(({ name }): Header => [name, (variable) => variable(variableOf(name))]),
      ...(type === undefined ? [] : [['Content-Type', () => type] satisfies Header]),
    ],
    json: isJson
      ? (content?.example ?? sampleOf(content?.schema ?? {}, document.components.schemas))
      : undefined,
    sendsBytes: type !== undefined && !isJson,
    answers: answerOf(operation),
    isWebSocket: '101' in responses,
  };
}

/** The headers of the first way to authenticate. */
function secretsOf({ security: [first = {}] }: Operation): Header[] {
  const headers: Header[] = [];
  const bearer = 'sessionToken' in first ? 'SESSION_TOKEN' : 'TOKEN';
  if (['bearer', 'interactive', 'sessionToken'].some((scheme) => scheme in first))
    headers.push(['Authorization', (variable) => `Bearer ${variable(bearer)}`]);
  if ('keySession' in first) headers.push(['X-Key-Session', (variable) => variable('KEY_SESSION')]);
  return headers;
}

function answerOf({ responses }: Operation): SampleRequest['answers'] {
  const good = Object.entries(responses).find(([status]) => status.startsWith('2'))?.[1];
  const [type] = Object.keys(good?.content ?? {});
  if (type === undefined) return 'nothing';
  if (type === 'application/json') return 'json';
  return type.startsWith('text/') ? 'text' : 'bytes';
}

/** `PATH` belongs to the shell, and `TOKEN` is the caller's token. */
const RENAMED = new Map([
  ['path', 'NOTE_PATH'],
  ['token', 'ASSET_TOKEN'],
]);

/** `encPath` → `ENC_PATH`, `X-Content-Hash` → `X_CONTENT_HASH`. */
const variableOf = (parameter: string): string =>
  RENAMED.get(parameter) ??
  parameter
    .replace(/([a-z])([A-Z])/g, '$1_$2')
    .replace(/\W/g, '_')
    .toUpperCase();

/** A code sample of an operation. Values to fill in are variables: SYNC_URL, TOKEN, and those of the parameters. */
export interface Sample {
  readonly language: 'curl' | 'JavaScript' | 'Python';
  readonly text: string;
}

export function samplesOf(listed: ListedOperation, document: ApiDocument): Sample[] {
  const request = requestOf(listed, document);
  return [
    { language: 'curl', text: curl(request) },
    { language: 'JavaScript', text: request.isWebSocket ? webSocket(request) : javaScript(request) },
    { language: 'Python', text: request.isWebSocket ? pythonWebSocket(request) : python(request) },
  ];
}

function curl({ method, url, headers, json, sendsBytes, isWebSocket }: SampleRequest): string {
  const variable = (name: string): string => `$${name}`;
  return [
    `curl${method === 'get' ? '' : ` -X ${method.toUpperCase()}`} "${url(variable)}"`,
    ...headers.map(([name, value]) => `-H "${name}: ${value(variable)}"`),
    ...(isWebSocket ? ["--http1.1 -N -H 'Connection: Upgrade' -H 'Upgrade: websocket'", WEBSOCKET_KEY] : []),
    ...(json === undefined ? [] : [`-d '${JSON.stringify(json).replaceAll("'", "'\\''")}'`]),
    ...(sendsBytes ? ['--data-binary @FILE'] : []),
  ].join(' \\\n  ');
}

const WEBSOCKET_KEY = `-H 'Sec-WebSocket-Version: 13' -H "Sec-WebSocket-Key: $(openssl rand -base64 16)"`;

const inTemplate = (name: string): string => `\${${name}}`;

function javaScript({ method, url, headers, json, sendsBytes, answers }: SampleRequest): string {
  const options = [
    ...(method === 'get' ? [] : [`  method: '${method.toUpperCase()}',`]),
    ...(headers.length > 0
      ? [
          '  headers: {',
          ...headers.map(([name, value]) => `    '${name}': \`${value(inTemplate)}\`,`),
          '  },',
        ]
      : []),
    ...(json === undefined ? [] : [`  body: JSON.stringify(${JSON.stringify(json)}),`]),
    ...(sendsBytes ? ['  body: BYTES,'] : []),
  ];
  const last = options.length > 0 ? `, {\n${options.join('\n')}\n})` : ')';
  return [
    `const response = await fetch(\`${url(inTemplate)}\`${last};`,
    'if (!response.ok) throw new Error(await response.text());',
    ...(answers === 'nothing' ? [] : [`const answer = await response.${READ_IN_JAVASCRIPT[answers]};`]),
  ].join('\n');
}

const READ_IN_JAVASCRIPT = { json: 'json()', text: 'text()', bytes: 'arrayBuffer()' };

/** A browser cannot set the headers of a WebSocket, so the token is in the query. */
function webSocket({ url }: SampleRequest): string {
  return [
    `const url = \`${url(inTemplate)}?token=\${TOKEN}\`.replace(/^http/, 'ws');`,
    'const socket = new WebSocket(url);',
    "socket.addEventListener('message', ({ data }) => console.log(JSON.parse(data)));",
  ].join('\n');
}

const inFormat = (name: string): string => `{${name}}`;

function python({ method, url, headers, json, sendsBytes, answers }: SampleRequest): string {
  const args = [
    `f"${url(inFormat)}"`,
    ...(headers.length > 0
      ? [
          `headers={\n${headers.map(([name, value]) => `        "${name}": f"${value(inFormat)}",`).join('\n')}\n    }`,
        ]
      : []),
    ...(json === undefined ? [] : [`json=${pythonValue(json)}`]),
    ...(sendsBytes ? ['data=BYTES'] : []),
  ];
  return [
    'import requests',
    '',
    `response = requests.${method}(`,
    ...args.map((arg) => `    ${arg},`),
    ')',
    'response.raise_for_status()',
    ...(answers === 'nothing' ? [] : [`answer = response.${READ_IN_PYTHON[answers]}`]),
  ].join('\n');
}

const READ_IN_PYTHON = { json: 'json()', text: 'text', bytes: 'content' };

function pythonWebSocket({ url, headers }: SampleRequest): string {
  return [
    'from websockets.sync.client import connect',
    '',
    `url = f"${url(inFormat)}".replace("http", "ws", 1)`,
    `headers = {${headers.map(([name, value]) => `"${name}": f"${value(inFormat)}"`).join(', ')}}`,
    'with connect(url, additional_headers=headers) as socket:',
    '    for message in socket:',
    '        print(message)',
  ].join('\n');
}

/** A JSON value as a Python literal. */
function pythonValue(value: unknown): string {
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (Array.isArray(value)) return `[${value.map(pythonValue).join(', ')}]`;
  if (typeof value !== 'object') return JSON.stringify(value);
  const pairs = Object.entries(value).map(([key, one]) => `${JSON.stringify(key)}: ${pythonValue(one)}`);
  return `{${pairs.join(', ')}}`;
}
