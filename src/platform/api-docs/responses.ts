import type { HeaderObject, Reference, Response } from './api-document.js';
import type { AnswerDocs } from './documented.js';
import type { OperationParts } from './operation-parts.js';
import { contentOf, JSON_TYPE } from './content.js';
import { ERROR, type Schema, STRING } from './schema.js';

/** The answers of the policy, of reading the body and of the route itself, in numerical order. */
export function responsesOf(parts: OperationParts): Record<string, Response> {
  const { operation, policy, body } = parts;
  const ofBody = body && { 400: 'the body is invalid', 413: 'the body is too large' };
  const sources: Readonly<Record<number, AnswerDocs | string>>[] = [
    policy.answers,
    ofBody ?? {},
    operation.answers,
  ];
  const statuses = [...new Set(sources.flatMap((source) => Object.keys(source).map(Number)))];
  return Object.fromEntries(
    statuses
      .sort((a, b) => a - b)
      .map((status) => {
        const all = sources.flatMap((source) => source[status] ?? []);
        return [String(status), responseOf(status, all, parts)];
      }),
  );
}

function responseOf(
  status: number,
  all: readonly (AnswerDocs | string)[],
  { isPage, policy, components, example }: OperationParts,
): Response {
  const docs = all.find((one) => typeof one === 'object');
  const description = [...new Set(all.map((one) => (typeof one === 'string' ? one : one.description)))].join(
    '; ',
  );
  const isOurs = status !== 401 || policy.security.length > 0;
  const headers = {
    ...(isOurs && HEADERS[status]),
    ...textHeaders(docs?.headers),
    'X-Request-Id': headerNamed('X-Request-Id'),
  };
  const content = docs ? (docs.content ?? {}) : errorContent(status, isPage);
  return {
    description,
    headers,
    ...(Object.keys(content).length > 0 && {
      content: contentOf(content, components, example?.answers?.[status]),
    }),
  };
}

/** While the service is down, a request does not reach the page's error filter. */
function errorContent(status: number, isPage: boolean): Record<string, Schema> {
  if (!isPage) return { [JSON_TYPE]: ERROR };
  return status === 503 ? { 'text/html': {}, [JSON_TYPE]: ERROR } : { 'text/html': {} };
}

type Headers = NonNullable<Response['headers']>;

/** Headers that only some answers of a status have. */
const SOMETIMES = new Set(['Set-Cookie', 'set-auth-token']);

const textHeaders = (headers: Readonly<Record<string, string>> = {}): Headers =>
  Object.fromEntries(
    Object.entries(headers).map(([name, description]) => [
      name,
      { description, required: !SOMETIMES.has(name), schema: STRING },
    ]),
  );

const always = (description: string, schema: Schema): HeaderObject => ({
  description,
  required: true,
  schema,
});

/** Headers of many answers, each defined once in the document. */
export const COMMON_HEADERS = {
  'X-Request-Id': always('Identifies the request in the log.', { type: 'string', format: 'uuid' }),
  'Retry-After': always('Seconds to wait before the next try.', { type: 'string', pattern: '^\\d+$' }),
  'WWW-Authenticate': always('`Bearer`', { const: 'Bearer' }),
};

const headerNamed = (name: keyof typeof COMMON_HEADERS): Reference => ({
  $ref: `#/components/headers/${name}`,
});

const RETRY_AFTER = { 'Retry-After': headerNamed('Retry-After') };

const HEADERS: Readonly<Record<number, Headers>> = {
  401: { 'WWW-Authenticate': headerNamed('WWW-Authenticate') },
  429: RETRY_AFTER,
  503: RETRY_AFTER,
};
