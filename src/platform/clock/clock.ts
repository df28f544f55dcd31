import { Injectable } from '@nestjs/common';

/** The only reader of the time of day, which rules take as a parameter and tests move. Durations and deadlines use `elapsed`. */
@Injectable()
export class Clock {
  now(): Date {
    return new Date();
  }

  /** Milliseconds since some moment: for how long ago something was. Unlike the time it never jumps. */
  elapsed(): number {
    return performance.now();
  }
}
