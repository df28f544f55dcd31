/** A request to @actual-app/sync-server: a protobuf message with only the fields that it requires. */
interface SyncRequest {
  readonly file: string;
  readonly group: string;
  readonly since: string;
  readonly messages: readonly Message[];
}

export interface Message {
  readonly timestamp: string;
  readonly content: Buffer;
}

export function syncRequest({ file, group, since, messages }: SyncRequest): Buffer {
  const envelopes = messages.map(({ timestamp, content }) =>
    field(1, Buffer.concat([field(1, Buffer.from(timestamp)), ENCRYPTED, field(3, content)])),
  );
  const texts = [field(2, Buffer.from(file)), field(3, Buffer.from(group)), field(6, Buffer.from(since))];
  return Buffer.concat([...envelopes, ...texts]);
}

/** Field 2 of an envelope, a boolean: true. */
const ENCRYPTED = Buffer.from([2 << 3, 1]);
const DELIMITED = 2;

function field(number: number, bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.from([(number << 3) | DELIMITED]), varint(bytes.length), bytes]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  for (; value >= 0x80; value >>>= 7) bytes.push((value & 0x7f) | 0x80);
  return Buffer.from([...bytes, value]);
}
