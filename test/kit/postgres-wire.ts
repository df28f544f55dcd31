const LENGTH_BYTES = 4;
const TYPE_BYTES = 1;
const VERSION_BYTES = 4;

/** Messages that a client sends together: a statement with everything that belongs to it, or messages without an answer. */
export interface Request {
  readonly bytes: Buffer;
  /** The name of a prepared statement, otherwise the SQL; undefined before the first and after the last statement. */
  readonly statement: string | undefined;
  /** Whether the server then reports that it is ready again. */
  readonly hasAnswer: boolean;
}

/** Parses what a PostgreSQL client sends (protocol 3.0, unencrypted). */
export class RequestReader {
  private rest = Buffer.alloc(0);
  private isStarted = false;
  private readonly texts = new Map<string, string>();
  private parts: Buffer[] = [];
  private statement: string | undefined;

  /** The requests that this chunk completes. */
  read(chunk: Buffer): Request[] {
    this.rest = Buffer.concat([this.rest, chunk]);
    const requests: Request[] = [];
    for (let message = this.next(); message; message = this.next()) {
      const request = this.add(message);
      if (request) requests.push(request);
    }
    return requests;
  }

  /** The start-up message has no type. */
  private next(): Buffer | undefined {
    const before = this.isStarted ? TYPE_BYTES : 0;
    if (this.rest.length < before + LENGTH_BYTES) return undefined;
    const end = before + this.rest.readUInt32BE(before);
    if (this.rest.length < end) return undefined;
    const message = this.rest.subarray(0, end);
    this.rest = this.rest.subarray(end);
    return message;
  }

  private add(message: Buffer): Request | undefined {
    const type = this.isStarted ? String.fromCharCode(message[0] ?? 0) : 'start';
    this.isStarted = true;
    const texts = message.subarray(TYPE_BYTES + LENGTH_BYTES);
    if (type === 'P') this.texts.set(textAt(texts, 0), textAt(texts, 1));
    if (type === 'B') this.statement = this.nameOf(textAt(texts, 1));
    if (type === 'Q') this.statement = textAt(texts, 0);
    this.parts.push(message);
    return 'PBDECF'.includes(type) ? undefined : this.whole(type);
  }

  private nameOf(prepared: string): string | undefined {
    return prepared === '' ? this.texts.get('') : prepared;
  }

  private whole(type: string): Request {
    const hasAnswer = ['start', 'Q', 'S'].includes(type);
    const request = { bytes: Buffer.concat(this.parts), statement: this.statement, hasAnswer };
    this.parts = [];
    this.statement = undefined;
    return request;
  }
}

/** Assembles a PostgreSQL server's answer to one request. */
export class AnswerReader {
  private bytes = Buffer.alloc(0);
  private at = 0;

  /** The whole answer, if this chunk ends it. */
  read(chunk: Buffer): Buffer | undefined {
    this.bytes = Buffer.concat([this.bytes, chunk]);
    while (this.bytes.length >= this.at + TYPE_BYTES + LENGTH_BYTES) {
      const end = this.at + TYPE_BYTES + this.bytes.readUInt32BE(this.at + TYPE_BYTES);
      if (this.bytes.length < end) return undefined;
      const isReadyAgain = this.bytes[this.at] === 'Z'.charCodeAt(0);
      this.at = end;
      if (isReadyAgain) return this.bytes;
    }
    return undefined;
  }

  /** Number of answers that end in this chunk, for a reader of all answers of a connection. */
  count(chunk: Buffer): number {
    let ended = 0;
    for (let answer = this.read(chunk); answer; answer = this.read(Buffer.alloc(0))) {
      ended++;
      this.forget();
    }
    this.forget();
    return ended;
  }

  private forget(): void {
    this.bytes = this.bytes.subarray(this.at);
    this.at = 0;
  }
}

/** A PostgreSQL server's answer to a failed request, ready for the next one. */
export function errorAnswer(severity: string, code: string, message: string): Buffer {
  const fields = Buffer.from(`S${severity}\0V${severity}\0C${code}\0M${message}\0\0`);
  const head = Buffer.from('E\0\0\0\0');
  head.writeUInt32BE(LENGTH_BYTES + fields.length, TYPE_BYTES);
  return Buffer.concat([head, fields, Buffer.from('Z\0\0\0\x05I')]);
}

/** The start-up message, changed to ask for another database. */
export function startIn(database: string, message: Buffer): Buffer {
  const fixed = LENGTH_BYTES + VERSION_BYTES;
  const texts = message.toString('utf8', fixed).split('\0');
  texts[texts.indexOf('database') + 1] = database;
  const changed = Buffer.concat([message.subarray(0, fixed), Buffer.from(texts.join('\0'))]);
  changed.writeUInt32BE(changed.length);
  return changed;
}

/** The n-th of texts that are each terminated by NUL. */
function textAt(bytes: Buffer, n: number): string {
  let start = 0;
  for (let skipped = 0; skipped < n; skipped++) start = bytes.indexOf(0, start) + 1;
  return bytes.toString('utf8', start, bytes.indexOf(0, start));
}
