/** A prepared statement: `name` is unique in the service, `text` is complete. */
export interface Statement {
  readonly name: string;
  readonly text: string;
  /** The text where tables are distributed over nodes, if `text` needs what one server can do and several cannot. */
  readonly onNodes?: string;
  /** The text for the node that has the workspace $1, if it is about that workspace alone; often the same as `text`. */
  readonly onShard?: string;
  /** The text for one of the parts that `Database.parts` has, if `text` reads tables that are not there. */
  readonly onPart?: string;
  /** Whether it is about the workspace $1, and so needs its node alone, if any; read from the text unless told. */
  readonly isOfWorkspace?: boolean;
}

type Variants = Pick<Statement, 'onNodes' | 'onShard' | 'onPart' | 'isOfWorkspace'>;

/** A value that the driver can bind. */
export type Parameter =
  string | number | boolean | Date | Buffer | null | readonly (string | number | null)[];

const statements = new Map<string, Statement>();

const OF_WORKSPACE =
  /\bworkspace_id = \$1\b|\(workspace_id,[^)]*\)\s+VALUES \(\$1,|\bworkspaces\b[^,;]* WHERE (?:w\.)?id = \$1\b/;

/** @throws when another text has the same name: a connection would run whichever it prepared first */
export function statement(name: string, text: string, variants: Variants = {}): Statement {
  const known = statements.get(name) ?? {
    name,
    text,
    isOfWorkspace: variants.onShard !== undefined || OF_WORKSPACE.test(text),
    ...variants,
  };
  if (known.text !== text || known.onNodes !== variants.onNodes)
    throw new Error(`two statements have the name ${name}`);
  statements.set(name, known);
  return known;
}

/** A statement that reads one workspace, $1, and nothing else but the tables that every node has. */
export const ofWorkspace = (name: string, text: string): Statement =>
  statement(name, text, { onShard: text });

/** The statements of all loaded modules. */
export const knownStatements = (): readonly Statement[] => [...statements.values()];
