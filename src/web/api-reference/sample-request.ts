import type { ApiDocument, Operation } from '../../platform/api-docs/index.js';
import type { ListedOperation } from './groups.js';
import { sampleOf } from './sample-value.js';

/** Text in which names of variables are marked, so that each language can write them in its own way. */
type Template = (variable: (name: string) => string) => string;

/** What each language writes down in its own way. */
export interface SampleRequest {
  readonly method: string;
  readonly url: Template;
  readonly headers: readonly (readonly [string, Template])[];
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
        .map(({ name }) => [name, (variable) => variable(variableOf(name))] as [string, Template]),
      ...(type === undefined ? [] : [['Content-Type', () => type] as [string, Template]]),
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
function secretsOf({ security }: Operation): [string, Template][] {
  const [first = {}] = security;
  const bearer = 'sessionToken' in first ? 'SESSION_TOKEN' : 'TOKEN';
  return [
    ...('bearer' in first || 'interactive' in first || 'sessionToken' in first
      ? [['Authorization', (variable) => `Bearer ${variable(bearer)}`] as [string, Template]]
      : []),
    ...('keySession' in first
      ? [['X-Key-Session', (variable) => variable('KEY_SESSION')] as [string, Template]]
      : []),
  ];
}

function answerOf({ responses }: Operation): SampleRequest['answers'] {
  const good = Object.entries(responses).find(([status]) => status.startsWith('2'))?.[1];
  const [type] = Object.keys(good?.content ?? {});
  if (type === undefined) return 'nothing';
  if (type === 'application/json') return 'json';
  return type.startsWith('text/') ? 'text' : 'bytes';
}

/** The shell needs its PATH, and TOKEN is that of the caller. */
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
