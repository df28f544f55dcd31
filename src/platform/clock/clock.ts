import { Injectable } from '@nestjs/common';

/** The only reader of time. Rules take the time as a parameter; tests move it. */
@Injectable()
export class Clock {
  now(): Date {
    return new Date();
  }
}
