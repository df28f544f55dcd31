import type { Socket } from 'node:net';
import pg from 'pg';
import { Parser } from 'pg-protocol/dist/parser.js';

/**
 * A prepared statement: `name` is unique in the service. Its text has the tables of workspaces, and the functions that write
 * them, in braces: `FROM {files}`. On a single server these names are used as they are; on a node they are replaced with the
 * names of a shard.
 */
export interface Statement {
  readonly name: string;
  /** The text for a single server. */
  readonly text: string;
  /** The text for the coordinator of a distributed database; often the same. */
  readonly onNodes: string;
  /** `onNodes` with its braces, for the tables of a shard. */
  readonly template: string;
  /** Whether it only concerns the workspace $1, or the workspaces $1 of one part, and is therefore sent to their node. */
  readonly isOfWorkspace: boolean;
  /** Whether results use PostgreSQL's binary format: for contents, and only for the types in `PARSERS`. */
  readonly isBinary: boolean;
}

interface Variants {
  /** The text for a distributed database, if `text` uses what is unavailable there: accounts, locks on several nodes. */
  readonly onNodes?: string;
  readonly isOfWorkspace?: boolean;
  readonly isBinary?: boolean;
}

/** A value that the driver can bind. */
export type Parameter =
  string | number | boolean | Date | Buffer | null | readonly (string | number | null)[];

const IN_BRACES = /\{([a-z_]+)\}/g;

/** Replaces the names in braces. @param nameOf returns the replacement for a name */
export const filled = (template: string, nameOf: (name: string) => string): string =>
  template.replace(IN_BRACES, (_, name: string) => nameOf(name));

/** The text for a server whose tables have their ordinary names. */
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

/** A statement that only uses the rows of the workspace $1, and tables that every node has. */
export const ofWorkspace = (name: string, text: string, isBinary = false): Statement =>
  statement(name, text, { isOfWorkspace: true, isBinary });

export const knownStatements = (): readonly Statement[] => [...statements.values()];

/** The text of a statement, and the name under which connections prepare it. */
export type Text = Pick<Statement, 'name' | 'text' | 'isBinary'>;

export async function execute<Row>(
  on: Pick<pg.ClientBase, 'query'>,
  { name, text, isBinary }: Text,
  values: readonly Parameter[],
): Promise<Row[]> {
  const query = { name, text, values: [...values], binary: isBinary };
  return (await on.query(query as pg.QueryConfig)).rows as Row[];
}

const DATA_ROW = 0x44;
const ROW_DESCRIPTION = 0x54;

interface Message {
  readonly name: string;
  readonly fields?: readonly { readonly format?: string }[];
}

/** The part of the driver's connection that is replaced; it calls `attachListeners` once its stream is ready. */
interface DriverConnection {
  attachListeners: (stream: Socket) => void;
  emit: (event: string, message: Message) => void;
}

interface DriverParser {
  parse: (chunk: Buffer, each: (message: Message) => void) => void;
  handlePacket: (offset: number, code: number, length: number, bytes: Buffer) => Message;
}

/**
 * Lets a connection of the driver return results in PostgreSQL's binary format: contents arrive as they are stored, instead of as
 * text of twice the size. The driver can ask for them (`binary`), but its parser decodes every value as UTF-8.
 *
 * Danger: this replaces internals of the driver, whose version is pinned; `invariants/binary-results` fails when they change.
 */
export function acceptBinaryResults(client: pg.Client): void {
  const { connection } = client as unknown as { connection: DriverConnection };
  connection.attachListeners = (stream) => {
    const parser = binaryParser();
    const emit = (message: Message): void =>
      connection.emit(message.name === 'error' ? 'errorMessage' : message.name, message);
    stream.on('data', (chunk: Buffer) => parser.parse(chunk, emit));
  };
}

function binaryParser(): DriverParser {
  const parser = new Parser() as unknown as DriverParser;
  const handle = parser.handlePacket.bind(parser);
  let isBinary = false;
  parser.handlePacket = (offset, code, length, bytes) => {
    if (code === DATA_ROW && isBinary) return dataRow(offset, length, bytes);
    const message = handle(offset, code, length, bytes);
    if (code === ROW_DESCRIPTION) isBinary = message.fields?.[0]?.format === 'binary';
    return message;
  };
  return parser;
}

/** The values are slices of `bytes`; the driver copies them. */
function dataRow(offset: number, length: number, bytes: Buffer): Message {
  const fields = new Array<Buffer | null>(bytes.readInt16BE(offset));
  let at = offset + 2;
  for (let index = 0; index < fields.length; index++) {
    const size = bytes.readInt32BE(at);
    at += 4;
    fields[index] = size < 0 ? null : bytes.subarray(at, (at += size));
  }
  return { name: 'dataRow', length, fieldCount: fields.length, fields } as unknown as Message;
}

/** The start of the year 2000, PostgreSQL's epoch, in milliseconds since 1970. */
const EPOCH_MS = 946_684_800_000;

const uuidOf = (bytes: Buffer): string => {
  const hex = bytes.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
};

/** Converts a bigint, in either format, to a number. @throws when it is beyond the safe integers */
export function safeInteger(value: bigint | string): number {
  const number = Number(value);
  if (!Number.isSafeInteger(number)) throw new Error('a bigint exceeds the safe integers');
  return number;
}

/** By type OID. Yields the same values as the text format. */
const PARSERS = new Map<number, (bytes: Buffer) => unknown>([
  [pg.types.builtins.BOOL, (bytes) => bytes[0] !== 0],
  [pg.types.builtins.BYTEA, (bytes) => bytes],
  [pg.types.builtins.INT8, (bytes) => safeInteger(bytes.readBigInt64BE())],
  [pg.types.builtins.INT4, (bytes) => bytes.readInt32BE()],
  [pg.types.builtins.TEXT, (bytes) => bytes.toString()],
  [pg.types.builtins.UUID, uuidOf],
  [pg.types.builtins.TIMESTAMPTZ, (bytes) => new Date(Number(bytes.readBigInt64BE()) / 1000 + EPOCH_MS)],
]);

/** For any other type, the returned function throws, so that the query fails. */
export function binaryValueOf(type: number): (bytes: Buffer) => unknown {
  return PARSERS.get(type) ?? refuse(type);
}

const refuse = (type: number) => (): never => {
  throw new Error(`results of the type ${type} cannot be read in binary format`);
};
