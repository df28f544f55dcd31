import type { StateFile } from '../../../client/src/folder/ports.js';
import { Killed, type Steps } from './steps.js';

/** A file that outlives processes. */
export class Bytes {
  written: Uint8Array = new Uint8Array();
  /** What certainly survives a loss of power. */
  durable: Uint8Array = new Uint8Array();

  /** Loses some of what was not flushed. */
  losePower(share: number): void {
    const common = this.written.length >= this.durable.length ? this.durable.length : 0;
    const kept = common + Math.floor((this.written.length - common) * share);
    this.written = this.written.slice(0, kept);
    this.durable = this.written;
  }

  empty(): Bytes {
    return new Bytes();
  }

  copy(): Bytes {
    const copy = new Bytes();
    copy.written = this.written;
    copy.durable = this.written;
    return copy;
  }
}

/** Simulates the state file: an append can be cut anywhere, a replacement is complete or has not happened. */
export class SimulatedStateFile implements StateFile {
  constructor(
    private readonly bytes: Bytes,
    private readonly steps: Steps,
  ) {}

  async read(): Promise<Uint8Array> {
    await this.steps.next();
    return this.bytes.written.slice();
  }

  async truncate(length: number): Promise<void> {
    await this.steps.next();
    this.bytes.written = this.bytes.written.slice(0, length);
    this.bytes.durable = this.bytes.written;
  }

  async append(more: Uint8Array): Promise<void> {
    const isLast = await this.steps.isLast();
    const part = isLast ? more.slice(0, this.steps.random.below(more.length + 1)) : more;
    const grown = new Uint8Array(this.bytes.written.length + part.length);
    grown.set(this.bytes.written);
    grown.set(part, this.bytes.written.length);
    this.bytes.written = grown;
    if (isLast) throw new Killed();
  }

  async sync(): Promise<void> {
    await this.steps.next();
    this.bytes.durable = this.bytes.written;
  }

  async replace(whole: Uint8Array): Promise<void> {
    await this.steps.next();
    this.bytes.written = whole.slice();
    this.bytes.durable = this.bytes.written;
  }
}
