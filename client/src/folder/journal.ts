import { crc32 } from 'node:zlib';
import type { StateFile } from './ports.js';

const NEWLINE = 0x0a;
const CHECKSUM = 8;

/** A line: eight hex digits of CRC-32, a space, JSON. */
function lineOf(record: unknown): string {
  const json = JSON.stringify(record);
  return `${checksum(json)} ${json}\n`;
}

const checksum = (text: string): string => crc32(text).toString(16).padStart(CHECKSUM, '0');

/** @returns undefined for a line that was not written completely, or was altered */
function parsed(line: string): unknown {
  const json = line.slice(CHECKSUM + 1);
  if (line[CHECKSUM] !== ' ' || line.slice(0, CHECKSUM) !== checksum(json)) return undefined;
  return JSON.parse(json) as unknown;
}

/**
 * An append-only file of records. On open, everything from the first broken line on is cut off: the state is older then, as
 * if the end had never been written.
 */
export class Journal<T> {
  private pending: string[] = [];
  private needsSync = false;
  private lines = 0;
  /** Bytes of whole lines in the file. */
  private bytes = 0;
  /** The last line may be incomplete or missing. */
  private isTorn = false;

  private constructor(private readonly file: StateFile) {}

  static async open<T>(file: StateFile): Promise<{ journal: Journal<T>; records: T[] }> {
    const journal = new Journal<T>(file);
    const bytes = await file.read();
    const records: T[] = [];
    const decoder = new TextDecoder();
    let good = 0;
    for (let end = bytes.indexOf(NEWLINE); end !== -1; end = bytes.indexOf(NEWLINE, good)) {
      const record = parsed(decoder.decode(bytes.subarray(good, end)));
      if (record === undefined) break;
      records.push(record as T);
      good = end + 1;
    }
    if (good < bytes.length) await file.truncate(good);
    journal.lines = records.length;
    journal.bytes = good;
    return { journal, records };
  }

  /** Number of lines in the file, plus pending ones. */
  get length(): number {
    return this.lines;
  }

  add(record: T): void {
    this.pending.push(lineOf(record));
    this.lines++;
  }

  /**
   * Writes pending records. They survive a crash of this process, but not a power failure. Records that a full disk refuses
   * are written first the next time, because a journal with a gap describes no state that ever existed.
   */
  async write(): Promise<void> {
    if (this.pending.length === 0) return;
    if (this.isTorn) await this.file.truncate(this.bytes);
    const lines = this.pending;
    const text = new TextEncoder().encode(lines.join(''));
    [this.pending, this.needsSync, this.isTorn] = [[], true, true];
    try {
      await this.file.append(text);
    } catch (error) {
      this.pending = [...lines, ...this.pending];
      throw error;
    }
    this.bytes += text.length;
    this.isTorn = false;
  }

  /** Writes pending records, and makes all records survive a power failure. */
  async sync(): Promise<void> {
    await this.write();
    if (!this.needsSync) return;
    await this.file.sync();
    this.needsSync = false;
  }

  /** Replaces all records, including pending ones. */
  async replace(records: Iterable<T>): Promise<void> {
    const covered = this.pending.length;
    const lines = Array.from(records, lineOf);
    const text = new TextEncoder().encode(lines.join(''));
    await this.file.replace(text);
    this.pending = this.pending.slice(covered);
    this.lines = lines.length + this.pending.length;
    this.bytes = text.length;
    [this.needsSync, this.isTorn] = [false, false];
  }
}
