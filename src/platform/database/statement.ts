/**
 * A prepared statement: `name` is unique in the service. Its text is given with the tables of workspaces, and the functions that
 * write them, in braces: `FROM {files}`. On one server these are their names; on a node they are the names for a shard.
 */
export interface Statement {
  readonly name: string;
  /** The text for one server. */
  readonly text: string;
  /** The text for the coordinator, where workspaces are on several nodes; often the same. */
  readonly onNodes: string;
  /** The text of `onNodes` with its braces, for the tables of a shard. */
  readonly template: string;
  /** Whether it is about the workspace $1 alone, or about the workspaces $1 of one part, and so is sent to their node. */
  readonly isOfWorkspace: boolean;
  /** Whether results come in the binary format of PostgreSQL: for contents, and only for the types in `binary-results.ts`. */
  readonly isBinary: boolean;
}

interface Variants {
  /** The text where workspaces are on several nodes, if `text` needs what is not there: accounts, locks on many nodes. */
  readonly onNodes?: string;
  readonly isOfWorkspace?: boolean;
  readonly isBinary?: boolean;
}

/** A value that the driver can bind. */
export type Parameter =
  string | number | boolean | Date | Buffer | null | readonly (string | number | null)[];

const IN_BRACES = /\{([a-z_]+)\}/g;

/** Fills the braces of a text. @param nameOf gets what is in them */
export const filled = (template: string, nameOf: (name: string) => string): string =>
  template.replace(IN_BRACES, (_, name: string) => nameOf(name));

/** The text for a server whose tables have their own names. */
export const withOwnNames = (template: string): string => filled(template, (name) => name);

const statements = new Map<string, Statement>();

/** @throws when another text has the same name: a connection would run whichever it prepared first */
export function statement(name: string, text: string, variants: Variants = {}): Statement {
  const template = variants.onNodes ?? text;
  const made: Statement = {
    name,
    text: withOwnNames(text),
    onNodes: withOwnNames(template),
    template,
    isOfWorkspace: variants.isOfWorkspace ?? false,
    isBinary: variants.isBinary ?? false,
  };
  const known = statements.get(name) ?? made;
  if (known.text !== made.text || known.template !== made.template)
    throw new Error(`two statements have the name ${name}`);
  statements.set(name, known);
  return known;
}

/** A statement that reads one workspace, $1, and nothing else but the tables that every node has. */
export const ofWorkspace = (name: string, text: string, isBinary = false): Statement =>
  statement(name, text, { isOfWorkspace: true, isBinary });

/** The statements of all loaded modules. */
export const knownStatements = (): readonly Statement[] => [...statements.values()];
