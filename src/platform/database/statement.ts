/** A prepared statement: `name` is unique in the service, `text` is complete. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

/** A value that the driver can bind. */
export type Parameter =
  string | number | boolean | Date | Buffer | null | readonly (string | number | null)[];

const statements = new Map<string, Statement>();

/** @throws when another text has the same name: a connection would run whichever it prepared first */
export function statement(name: string, text: string): Statement {
  const known = statements.get(name) ?? { name, text };
  if (known.text !== text) throw new Error(`two statements have the name ${name}`);
  statements.set(name, known);
  return known;
}

/** The statements of all loaded modules. */
export const knownStatements = (): readonly Statement[] => [...statements.values()];
