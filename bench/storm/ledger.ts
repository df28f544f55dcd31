import type { Answer } from './peer.js';

/** What ordinary users were answered. */
export interface Report {
  readonly requests: number;
  /** 5xx, and connections that broke or were silent: nobody can do anything but try again. */
  readonly failed: number;
  /** 429: told to go slower. */
  readonly limited: number;
  /** Any other answer that the request should not have got. */
  readonly wrong: number;
  /** Of those three, a line each for the first of them. */
  readonly examples: readonly string[];
  /** Live sockets that were closed although their clients did all they must. */
  readonly socketsLost: number;
  /** Changes of the other device that were heard of. */
  readonly heard: number;
  /** By phase and kind of request, the milliseconds that answers took. */
  readonly latencies: Readonly<Record<string, Readonly<Record<string, readonly number[]>>>>;
}

const MOST_EXAMPLES = 40;

/** Counts answers to ordinary users, phase by phase. */
export class Ledger {
  private phase = 'calm';
  private counts = { requests: 0, failed: 0, limited: 0, wrong: 0 };
  private examples: string[] = [];
  private latencies: Record<string, Record<string, number[]>> = {};
  private socketsLost = 0;
  private heard = 0;

  /** @param kind for reports @param ms from the request to the end of the answer */
  answered(kind: string, { status, body }: Answer, ms: number): void {
    this.counts.requests++;
    ((this.latencies[this.phase] ??= {})[kind] ??= []).push(ms);
    if (status >= 200 && status < 300) return;
    const fate = status === 0 || status >= 500 ? 'failed' : status === 429 ? 'limited' : 'wrong';
    this.counts[fate]++;
    this.example(`${kind}: ${status} after ${Math.round(ms)} ms ${String(body).slice(0, 100)}`);
  }

  lostSocket(code: number): void {
    this.socketsLost++;
    this.example(`socket closed with ${code}`);
  }

  heardOf(changes: number): void {
    this.heard += changes;
  }

  /** From now on answers count for this phase. @returns what there was since the last call */
  enter(phase: string): Report {
    const { counts, examples, latencies, socketsLost, heard } = this;
    this.phase = phase;
    this.counts = { requests: 0, failed: 0, limited: 0, wrong: 0 };
    this.examples = [];
    this.latencies = {};
    [this.socketsLost, this.heard] = [0, 0];
    return { ...counts, examples, latencies, socketsLost, heard };
  }

  private example(line: string): void {
    if (this.examples.length < MOST_EXAMPLES) this.examples.push(`${this.phase}: ${line}`);
  }
}
