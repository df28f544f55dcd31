import { Global, Injectable, Module } from '@nestjs/common';

export interface Examination {
  readonly now: Date;
  /** Whether to read every stored byte. */
  readonly isDeep: boolean;
  readonly fix: boolean;
}

export interface Finding {
  /** The kind of fault, in a word or two: `missing bytes`. */
  readonly fault: string;
  /** What is affected: a key, an id. Nothing secret. */
  readonly subject: string;
  /** What is wrong, in one sentence. */
  readonly problem: string;
  /** What to do, in one sentence. */
  readonly cure: string;
  readonly isFixed: boolean;
}

/** Checks one guarantee and reports where it is broken. Must be safe next to a running service. */
export type Check = (examination: Examination) => AsyncIterable<Finding>;

/** Checks that the service's guarantees hold. Each module registers the checks of its own guarantees at set-up. */
@Injectable()
export class Doctor {
  private readonly checks: Check[] = [];

  addCheck(check: Check): void {
    this.checks.push(check);
  }

  async *examine(examination: Examination): AsyncGenerator<Finding> {
    for (const check of this.checks) yield* check(examination);
  }
}

@Global()
@Module({ providers: [Doctor], exports: [Doctor] })
export class DoctorModule {}
