import type { VNode } from 'preact';
import type { ApiDocument, Content as Contents, Operation, Parameter, Response } from '../../platform/api-docs/index.js';
import type { ListedOperation } from './groups.js';
import { samplesOf } from './samples.js';
import { Marked, SchemaText } from './schema-text.js';

interface ArticleProps extends ListedOperation {
  readonly document: ApiDocument;
}

/** One operation: its purpose, parameters, body, answers, and a program that asks for it. */
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

/** The keyboard can scroll what does not fit. */
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
