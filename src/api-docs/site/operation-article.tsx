import type { VNode } from 'preact';
import type { ApiDocument, Operation, Parameter, Response, Schema } from '../index.js';
import { Marked, SchemaText } from './schema-text.js';

interface ArticleProps {
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
  readonly document: ApiDocument;
}

/** One operation: its purpose, parameters, body, answers, and a command to try it. */
export function OperationArticle({ method, path, operation, document }: ArticleProps): VNode {
  const { operationId, summary, description, parameters = [], requestBody } = operation;
  return (
    <article id={operationId}>
      <h3>
        <span class={`method ${method}`}>{method}</span> {summary}
      </h3>
      <p class="path">
        {path.split('/').flatMap((segment, index) => (index === 0 ? [] : ['/', <wbr />, segment]))}
      </p>
      {description && (
        <p>
          <Marked text={description} />
        </p>
      )}
      <p class="access">{accessText(operation)}</p>
      {parameters.length > 0 && <Parameters parameters={parameters} />}
      {requestBody && (
        <>
          <h4>Body</h4>
          {requestBody.description && <p>{requestBody.description}</p>}
          <Content content={requestBody.content} />
        </>
      )}
      <h4>Responses</h4>
      <dl class="answers">
        {Object.entries(operation.responses).map(([status, response]) => (
          <Answer key={status} status={status} response={response} />
        ))}
      </dl>
      <pre class="curl">{curlOf({ method, path, operation }, document)}</pre>
    </article>
  );
}

function accessText({ security }: Operation): string {
  if (security.length === 0) return 'Public.';
  if (security.some((one) => 'interactive' in one)) return 'A service JWT; no personal access token.';
  const scopes = security.flatMap((one) => one['bearer'] ?? []);
  if (scopes.length === 0) return 'Any bearer token.';
  const all = scopes.includes('full') ? ['full'] : [...scopes, 'full'];
  return `A bearer token with ${all.join(' or ')}.`;
}

function Parameters({ parameters }: { readonly parameters: readonly Parameter[] }): VNode {
  return (
    <>
      <h4>Parameters</h4>
      <dl>
        {parameters.map(({ name, in: where, required, description }) => (
          <div key={`${where} ${name}`}>
            <dt>
              <code>{name}</code> <span class="where">{where}</span>
              {required ? '' : <span class="where">optional</span>}
            </dt>
            <dd>{description && <Marked text={description} />}</dd>
          </div>
        ))}
      </dl>
    </>
  );
}

function Answer({ status, response }: { readonly status: string; readonly response: Response }): VNode {
  const isError = status >= '400';
  return (
    <div>
      <dt class={isError ? 'error' : 'good'}>{status}</dt>
      <dd>
        <Marked text={response.description} />
        {!isPlainError(response) && <Content content={response.content ?? {}} />}
      </dd>
    </div>
  );
}

/** Errors in the common format, which is not repeated for each answer. */
const isPlainError = ({ content = {} }: Response): boolean =>
  Object.values(content).every(({ schema }) => schema?.['$ref'] === '#/components/schemas/Error');

function Content({
  content,
}: {
  readonly content: Readonly<Record<string, { readonly schema?: Schema }>>;
}): VNode {
  return (
    <>
      {Object.entries(content).map(([type, { schema }]) => (
        <div key={type} class="content">
          {type !== 'application/json' && <span class="type">{type}</span>}
          {schema && <SchemaText schema={schema} />}
        </div>
      ))}
    </>
  );
}

/** A curl command for the operation, with shell variables for the values to fill in. */
function curlOf(
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

/** A sample value for a schema: optional properties are omitted, and a string is its name. */
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
