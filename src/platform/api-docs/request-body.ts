import { ROUTE_ARGS_METADATA } from '@nestjs/common/constants.js';
import type { ValidationMetadata } from 'class-validator/types/metadata/ValidationMetadata.js';
import { isStrictBody } from '../http/index.js';
import { named, nullable, type Schema } from './schema.js';

export type BodyClass = new () => object;

interface RouteArgument {
  readonly index: number;
  readonly factory?: unknown;
  readonly data?: unknown;
}

/** The class and the size limit (bytes) of the body that a handler reads with a parameter decorator. */
export function bodyClassOf(
  controller: { readonly prototype: object; readonly name: string },
  handler: string,
  factory: unknown,
): { bodyClass: BodyClass; limit: number } | undefined {
  const args = Reflect.getMetadata(ROUTE_ARGS_METADATA, controller, handler) as
    Record<string, RouteArgument> | undefined;
  const argument = Object.values(args ?? {}).find((one) => one.factory === factory);
  if (!argument) return undefined;
  const types = Reflect.getMetadata('design:paramtypes', controller.prototype, handler) as BodyClass[];
  const bodyClass = types[argument.index];
  if (!bodyClass) throw new Error(`${controller.name}.${handler} has a body without a class`);
  return { bodyClass, limit: argument.data as number };
}

export type SchemaOfClass = (bodyClass: BodyClass, properties?: Readonly<Record<string, Schema>>) => Schema;

/** Loads the generator of schemas from validated classes. Loaded only when the document is requested, to save memory. */
export async function loadSchemaOfClass(): Promise<SchemaOfClass> {
  const { targetConstructorToSchema } = (await import('class-validator-jsonschema')).default;
  const { defaultMetadataStorage } = (await import('class-transformer/cjs/storage.js')).default;
  const schemaOfClass: SchemaOfClass = (bodyClass, overrides = {}) => {
    const { properties, required } = targetConstructorToSchema(bodyClass, {
      classTransformerMetadataStorage: defaultMetadataStorage,
      additionalConverters: {
        matches: ({ constraints }: ValidationMetadata) => patternOf((constraints as [RegExp])[0]),
        isInstant: { type: 'string', description: 'ISO 8601: a date, or a date with a time' },
        whitelistValidation: {},
        customValidation: {}, // a rule without a converter does not affect the schema
        // Without a type, which would make numbers of the integers that they bound.
        min: ({ constraints }: ValidationMetadata) => ({ minimum: (constraints as [number])[0] }),
        max: ({ constraints }: ValidationMetadata) => ({ maximum: (constraints as [number])[0] }),
        nestedValidation: ({ target, propertyName }: ValidationMetadata) => {
          const { typeFunction } = defaultMetadataStorage.findTypeMetadata(target as BodyClass, propertyName);
          const nested = typeFunction() as BodyClass;
          return schemaOfClass(nested);
        },
      },
    }) as { properties: Record<string, Schema>; required?: string[] };
    const all = Object.entries({ ...properties, ...overrides }).map(([name, schema]) => [
      name,
      required?.includes(name) ? schema : nullable(schema), // optional properties may also be null
    ]);
    const schema = {
      type: 'object',
      properties: Object.fromEntries(all) as object,
      ...(required ? { required } : {}),
      ...(isStrictBody(bodyClass) ? { additionalProperties: false } : {}),
    };
    return named(bodyClass.name, schema);
  };
  return schemaOfClass;
}

/** JSON Schema has no flags: a case-insensitive pattern lists both cases. */
function patternOf({ source, flags }: RegExp): { type: 'string'; pattern: string } {
  const bothCases = source.replace(/([a-z])-([a-z])/g, (range) => `${range}${range.toUpperCase()}`);
  return { type: 'string', pattern: flags.includes('i') ? bothCases : source };
}
