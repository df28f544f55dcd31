import type { ComponentChild, VNode } from 'preact';
import type {
  ApiDocument,
  Content as Contents,
  Operation,
  Parameter,
  Response,
  Schema,
} from '../../platform/api-docs/index.js';
import type { ListedOperation } from './api-documents.js';
import { samplesOf } from './samples.js';

/** Text that contains `code`. */
export function Marked({ text }: { readonly text: string }): VNode {
  const parts = text.split('`');
  return <>{parts.map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part))}</>;
}

const INDENT = '  ';

/** A schema in the notation of types; named schemas are links to their description. */
export function SchemaText({ schema }: { readonly schema: Schema }): VNode {
  const isShort = !('properties' in schema) && !('anyOf' in schema);
  return isShort ? (
    <code class="schema">{typeText(schema, '')}</code>
  ) : (
    <pre class="schema">{typeText(schema, '')}</pre>
  );
}

export const schemaAnchor = (name: string): string => `schema-${name}`;

function typeText(schema: Schema, indent: string): ComponentChild {
  const { $ref, anyOf, type } = schema;
  if (typeof $ref === 'string') return <Named name={$ref.slice($ref.lastIndexOf('/') + 1)} />;
  if ('const' in schema) return JSON.stringify(schema.const);
  if (Array.isArray(schema.enum)) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  if (Array.isArray(anyOf))
    return between(
      ' | ',
      (anyOf as Schema[]).map((one) => typeText(one, indent)),
    );
  if (Array.isArray(type)) {
    const [first, ...rest] = (type as string[]).map((one) => typeText({ ...schema, type: one }, indent));
    return between(' | ', [first, ...rest]);
  }
  if (type === 'array') return ['[', typeText(schema.items as Schema, indent), ']'];
  if (type === 'object' && schema.properties) return objectText(schema, indent);
  if (type === undefined) return 'anything';
  return plain(schema, type as string);
}

function objectText({ properties, required }: Schema, indent: string): ComponentChild[] {
  const inner = indent + INDENT;
  const names = required as readonly string[] | undefined;
  const lines = Object.entries(properties as Record<string, Schema>).map(([name, schema]) => [
    `\n${inner}${name}${names?.includes(name) ? '' : '?'}: `,
    typeText(schema, inner),
    typeof schema.description === 'string' && (
      <span class="remark">{` — ${schema.description.replaceAll('`', '')}`}</span>
    ),
  ]);
  return ['{', ...lines, `\n${indent}}`];
}

function plain({ format, minimum, maxLength, pattern }: Schema, type: string): ComponentChild {
  if (type === 'null') return 'null';
  if (typeof format === 'string') return `${type} (${format})`;
  if (typeof pattern === 'string') {
    return (
      <>
        {type} <span class="pattern">/{pattern.length > 48 ? `${pattern.slice(0, 46)}…` : pattern}/</span>
      </>
    );
  }
  if (typeof minimum === 'number') return `${type} ≥ ${minimum}`;
  return typeof maxLength === 'number' ? `${type} of at most ${maxLength}` : type;
}

function Named({ name }: { readonly name: string }): VNode {
  return <a href={`/docs/schemas#${schemaAnchor(name)}`}>{name}</a>;
}

const between = (separator: string, parts: readonly ComponentChild[]): ComponentChild[] =>
  parts.flatMap((part, index) => (index === 0 ? [part] : [separator, part]));

interface ArticleProps extends ListedOperation {
  readonly document: ApiDocument;
}

/** One operation: its purpose, parameters, body, answers, and code samples. */
export function OperationArticle({ method, path, operation, document }: ArticleProps): VNode {
  const { operationId, summary, description, parameters = [], requestBody } = operation;
  return (
    <article id={operationId}>
      <h2>
        <span class={`method ${method}`}>{method}</span> {summary}
      </h2>
      <p class="path">
        {path.split('/').flatMap((segment, index) => (index === 0 ? [] : ['/', <wbr />, segment]))}
      </p>
      {description && (
        <p>
          <Marked text={description} />
        </p>
      )}
      <p class="access">
        {accessText(operation)} Operation <code>{operationId}</code>.
      </p>
      {parameters.length > 0 && <Parameters parameters={parameters} />}
      {requestBody && (
        <>
          <h3>Body</h3>
          {requestBody.description && <p>{requestBody.description}</p>}
          <Content content={requestBody.content} />
        </>
      )}
      <h3>Responses</h3>
      <dl class="answers">
        {Object.entries(operation.responses).map(([status, response]) => (
          <Answer key={status} status={status} response={response} />
        ))}
      </dl>
      <h3>Samples</h3>
      {samplesOf({ method, path, operation }, document).map(({ language, text }, index) => (
        <details key={language} name={`samples of ${operationId}`} open={index === 0}>
          <summary>{language}</summary>
          <CodeBlock label={`${language}: ${summary}`} text={text} />
        </details>
      ))}
    </article>
  );
}

/** Can have the focus, so that the keyboard can scroll it. */
function CodeBlock({ label, text }: { readonly label: string; readonly text: string }): VNode {
  return (
    <pre class="sample" tabIndex={0} role="group" aria-label={label}>
      {text}
    </pre>
  );
}

function accessText({ security }: Operation): string {
  const has = (scheme: string): boolean => security.some((one) => scheme in one);
  const isOptional = security.some((one) => Object.keys(one).length === 0);
  if (security.length === 0) return 'Public.';
  if (has('sessionToken')) return `The session token or cookie${isOptional ? ', if there is one' : ''}.`;
  if (has('interactive')) return 'A service JWT; no personal access token.';
  const scopes = security.flatMap((one) => one['bearer'] ?? []);
  const all = scopes.includes('full') ? ['full'] : [...scopes, 'full'];
  const bearer = scopes.length === 0 ? 'Any bearer token' : `A bearer token with ${all.join(' or ')}`;
  return `${bearer}${has('keySession') ? ', and a key session' : ''}.`;
}

function Parameters({ parameters }: { readonly parameters: readonly Parameter[] }): VNode {
  return (
    <>
      <h3>Parameters</h3>
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
  Object.values(content).every(({ schema }) => schema?.['$ref'] === '#/components/schemas/ApiError');

function Content({ content }: { readonly content: Contents }): VNode {
  return (
    <>
      {Object.entries(content).map(([type, { schema, example }]) => (
        <div key={type} class="content">
          {type !== 'application/json' && <span class="type">{type}</span>}
          {schema && <SchemaText schema={schema} />}
          {example !== undefined && (
            <details>
              <summary>Example</summary>
              <pre>{JSON.stringify(example, null, 2)}</pre>
            </details>
          )}
        </div>
      ))}
    </>
  );
}
