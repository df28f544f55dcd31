export type Environment = Record<string, string | undefined>;

/** What `.env.example` and error messages say about one variable. */
export interface EnvVariable {
  property: string;
  name: string;
  meaning: string;
  default: string | undefined;
  secret: boolean;
  /** Normalizes each item of a list. */
  each: ((part: string) => string) | undefined;
  /** Constructor of the property's type: String, Number, Boolean or Array (comma-separated). */
  type: unknown;
}

const variables = new Map<object, EnvVariable[]>();

/** Binds a property of the configuration class to an environment variable. */
export function Env(
  name: string,
  meaning: string,
  defaultValue?: string,
  options: { secret?: boolean; each?: (part: string) => string } = {},
): PropertyDecorator {
  return (target, property) => {
    const known = variables.get(target) ?? [];
    variables.set(target, known);
    known.push({
      property: String(property),
      name,
      meaning,
      default: defaultValue,
      secret: options.secret ?? false,
      each: options.each,
      type: Reflect.getMetadata('design:type', target, property),
    });
  };
}

/** The variables of a configuration class, in declaration order. */
export function envVariables(configuration: abstract new () => object): readonly EnvVariable[] {
  return variables.get(configuration.prototype as object) ?? [];
}
