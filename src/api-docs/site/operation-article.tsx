import type { VNode } from 'preact';
import type { ApiDocument, Operation, Parameter, Response, Schema } from '../index.js';
import { curlOf } from './curl.js';
import { Marked } from './marked.js';
import { SchemaText } from './schema-text.js';

interface ArticleProps {
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
  readonly document: ApiDocument;
}

/** One operation: what it is for, what it takes, what it answers, and a command to try it. */
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
      <h4>Answers</h4>
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

/** The common form, which need not be shown each time. */
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
