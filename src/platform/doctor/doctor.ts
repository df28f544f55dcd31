import { Global, Injectable, Module } from '@nestjs/common';

/** How to look, and what to do about what is found. */
export interface Examination {
  readonly now: Date;
  /** Whether to read every byte there is. */
  readonly isDeep: boolean;
  /** Whether to cure what can be cured. */
  readonly fix: boolean;
}

/** Something that is not as it should be. */
export interface Finding {
  /** What kind of fault, in a word or two: `missing bytes`. */
  readonly fault: string;
  /** What has it: a key, an id. Nothing secret. */
  readonly subject: string;
  /** What is wrong, in a sentence. */
  readonly problem: string;
  /** What to do, in a sentence. */
  readonly cure: string;
  /** Whether it was cured. */
  readonly isFixed: boolean;
}

/** Looks at one promise and tells where it is broken. Must be safe beside a running service. */
export type Check = (examination: Examination) => AsyncIterable<Finding>;

/** Looks whether the service's promises hold. The modules that keep them add how to look, at set-up. */
@Injectable()
export class Doctor {
  private readonly checks: Check[] = [];

  addCheck(check: Check): void {
    this.checks.push(check);
  }

  /** Everything that is found, one check after the other. */
  async *examine(examination: Examination): AsyncGenerator<Finding> {
    for (const check of this.checks) yield* check(examination);
  }
}

@Global()
@Module({ providers: [Doctor], exports: [Doctor] })
export class DoctorModule {}
