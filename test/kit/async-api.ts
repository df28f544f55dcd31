import { Ajv, type ValidateFunction } from 'ajv';
import { readFileSync } from 'node:fs';

interface Document {
  readonly components: {
    readonly schemas: Record<string, object>;
    readonly messages: Record<string, { readonly payload: object }>;
  };
}

const CLIENT_MESSAGES = ['hello', 'ping'];

let validators: Map<string, ValidateFunction> | undefined;

/** Fails unless docs/reference/events.md describes the frame. */
export function expectDocumented(frame: { readonly type?: unknown }): void {
  validators ??= compile();
  const validate = validators.get(String(frame.type));
  if (!validate) throw new Error(`docs/reference/events.md has no message ${String(frame.type)}`);
  if (!validate(frame)) {
    throw new Error(`not as documented: ${JSON.stringify(frame)}: ${JSON.stringify(validate.errors)}`);
  }
}

/** The document in docs/reference/events.md, its only block of JSON. */
export function asyncApiDocument(): Document {
  const text = readFileSync('docs/reference/events.md', 'utf8');
  return JSON.parse(/```json\n([\s\S]*?)\n```/.exec(text)?.[1] ?? '') as Document;
}

function compile(): Map<string, ValidateFunction> {
  const { components } = asyncApiDocument();
  const ajv = new Ajv({ strict: false });
  ajv.addSchema({ $id: 'doc', components: { schemas: components.schemas } });
  return new Map(
    Object.entries(components.messages)
      .filter(([name]) => !CLIENT_MESSAGES.includes(name))
      .map(([name, { payload }]) => [name, ajv.compile(pointingAt('doc', payload))]),
  );
}

function pointingAt(id: string, schema: object): object {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/components', `"${id}#/components`)) as object;
}
