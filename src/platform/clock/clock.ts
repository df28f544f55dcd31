import { Injectable } from '@nestjs/common';

/** The only reader of time. Rules take the time as a parameter; tests move it. */
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
