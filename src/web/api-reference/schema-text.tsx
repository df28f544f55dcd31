import type { ComponentChild, VNode } from 'preact';
import type { Schema } from '../../platform/api-docs/index.js';

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
