/** A prepared statement: `name` is unique in the service, `text` stands whole. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

/** A value that the driver can bind. */
export type Parameter =
  string | number | boolean | Date | Buffer | null | readonly (string | number | null)[];

export function statement(name: string, text: string): Statement {
  return { name, text };
}
