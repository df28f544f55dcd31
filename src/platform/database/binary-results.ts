import type { Socket } from 'node:net';
import pg from 'pg';
import { Parser } from 'pg-protocol/dist/parser.js';

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

/** The values are parts of `bytes`; the driver copies them. */
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

/** The beginning of 2000, from which PostgreSQL counts microseconds, as the milliseconds of a Date. */
const EPOCH_MS = 946_684_800_000;

const uuidOf = (bytes: Buffer): string => {
  const hex = bytes.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
};

/** The number of a bigint, in whichever format it came. @throws when it is beyond the safe integers */
export function safeInteger(value: bigint | string): number {
  const number = Number(value);
  if (!Number.isSafeInteger(number)) throw new Error('a bigint exceeds the safe integers');
  return number;
}

/** By type id: the same values that the text format yields. */
const PARSERS = new Map<number, (bytes: Buffer) => unknown>([
  [pg.types.builtins.BOOL, (bytes) => bytes[0] !== 0],
  [pg.types.builtins.BYTEA, (bytes) => bytes],
  [pg.types.builtins.INT8, (bytes) => safeInteger(bytes.readBigInt64BE())],
  [pg.types.builtins.INT4, (bytes) => bytes.readInt32BE()],
  [pg.types.builtins.TEXT, (bytes) => bytes.toString()],
  [pg.types.builtins.UUID, uuidOf],
  [pg.types.builtins.TIMESTAMPTZ, (bytes) => new Date(Number(bytes.readBigInt64BE()) / 1000 + EPOCH_MS)],
]);

/** For a type that is not among these, the function throws, and the query fails. */
export function binaryValueOf(type: number): (bytes: Buffer) => unknown {
  return PARSERS.get(type) ?? refuse(type);
}

const refuse = (type: number) => (): never => {
  throw new Error(`results of the type ${type} cannot be read in binary format`);
};
