import { contentOf, JSON_TYPE } from './content.js';
import type { Parameters } from './documented.js';
import type { OperationParts } from './operation-parts.js';
import type { Operation, Parameter } from './api-document.js';
import { responsesOf } from './responses.js';
import { STRING, UUID } from './schema.js';
import { securityOf } from './security.js';

/** One operation of the document. @throws Error when a path parameter has no description */
export function operationOf(parts: OperationParts): Operation {
  const { operation, tag, id } = parts;
  const parameters = parametersOf(parts);
  const requestBody = requestBodyOf(parts);
  return {
    operationId: id,
    tags: [tag],
    summary: operation.summary,
    ...(operation.description && { description: operation.description }),
    security: securityOf(parts),
    ...(parameters.length > 0 && { parameters }),
    ...(requestBody && { requestBody }),
    responses: responsesOf(parts),
  };
}

function parametersOf({ path, operation, policy, components, secretHeaders }: OperationParts): Parameter[] {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
  const known: Parameters = { ...policy.path, ...operation.path };
  const inPath = names.map((name) => {
    const { description, schema = name === 'id' ? UUID : STRING } = known[name] ?? {};
    if (!description) throw new Error(`${path}: ${name} is not described`);
    return { name, in: 'path' as const, required: true, description, schema: components.refer(schema) };
  });
  const elsewhere = (where: 'query' | 'header', all: Parameters = {}): Parameter[] =>
    Object.entries(all).map(([name, { description, schema = STRING, isRequired }]) => ({
      name,
      in: where,
      required: isRequired === true,
      description,
      schema: components.refer(schema),
    }));
  return [
    ...inPath,
    ...elsewhere('query', { ...policy.query, ...operation.query }),
    ...elsewhere('header', { ...policy.headers, ...operation.headers }).filter(
      ({ name }) => !secretHeaders.has(name),
    ),
  ];
}

function requestBodyOf({ operation, body, components, example }: OperationParts): Operation['requestBody'] {
  if (body) {
    const description = `At most ${body.limit.toLocaleString('en-US')} bytes.`;
    return {
      required: true,
      description,
      content: contentOf({ [JSON_TYPE]: body.schema }, components, example?.body),
    };
  }
  if (!operation.body) return undefined;
  const { description, type, schema = {} } = operation.body;
  const content = contentOf({ [type]: schema }, components, example?.body);
  return { required: true, ...(description && { description }), content };
}
