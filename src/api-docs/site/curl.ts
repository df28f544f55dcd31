import type { ApiDocument, Operation, Schema } from '../index.js';

/** The command that makes a request, with variables of the shell for what a reader has to fill in. */
export function curlOf(
  { method, path, operation }: { method: string; path: string; operation: Operation },
  { components }: ApiDocument,
): string {
  const { parameters = [], requestBody, security } = operation;
  const required = parameters.filter((parameter) => parameter.required);
  const query = required.filter((one) => one.in === 'query').map(({ name }) => `${name}=$${variable(name)}`);
  const address = path.replace(/\{(\w+)\}/g, (_, name: string) => `$${variable(name)}`);
  const headers = required.filter((one) => one.in === 'header');
  const [type = '', body] = Object.entries(requestBody?.content ?? {})[0] ?? [];
  return [
    `curl${method === 'get' ? '' : ` -X ${method.toUpperCase()}`} "$SYNC_URL${address}${query.length > 0 ? `?${query.join('&')}` : ''}"`,
    ...(security.length > 0 ? ['-H "Authorization: Bearer $TOKEN"'] : []),
    ...headers.map(({ name }) => `-H "${name}: $${variable(name)}"`),
    ...(body ? [`-H 'Content-Type: ${type}'`, bodyOf(type, body.schema, components.schemas)] : []),
  ].join(' \\\n  ');
}

const variable = (name: string): string =>
  name
    .replace(/([a-z])([A-Z])/g, '$1_$2')
    .replace(/\W/g, '_')
    .toUpperCase();

function bodyOf(
  type: string,
  schema: Schema | undefined,
  schemas: ApiDocument['components']['schemas'],
): string {
  if (type !== 'application/json') return '--data-binary @FILE';
  return `-d '${JSON.stringify(sample(schema ?? {}, schemas))}'`;
}

/** Something of the form of a schema: what is optional is left out, a text says what it is. */
function sample(schema: Schema, schemas: ApiDocument['components']['schemas'], name = '…'): unknown {
  const { $ref, type, items, properties, required } = schema;
  if (typeof $ref === 'string')
    return sample(schemas[$ref.slice($ref.lastIndexOf('/') + 1)] ?? {}, schemas, name);
  if (Array.isArray(schema.enum)) return schema.enum[0];
  if (type === 'array') return [sample(items as Schema, schemas, name)];
  if (type === 'integer' || type === 'number') return 0;
  if (type !== 'object') return `<${name}>`;
  const wanted = Object.entries((properties ?? {}) as Record<string, Schema>).filter(([key]) =>
    (required as string[] | undefined)?.includes(key),
  );
  return Object.fromEntries(wanted.map(([key, value]) => [key, sample(value, schemas, key)]));
}
