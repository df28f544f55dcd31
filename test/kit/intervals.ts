import { SchedulerRegistry } from '@nestjs/schedule';
import { LOOK_AGAIN } from '../../src/backup/backup-schedule.js';
import type { TestService } from './service.js';

/** Stops everything that an instance does at intervals by itself. */
export function stopIntervals({ app }: TestService): void {
  const intervals = app.get(SchedulerRegistry, { strict: false });
  for (const name of intervals.getIntervals()) intervals.deleteInterval(name);
}

/** A slow spec must not meet the catching up of an instance, which starts jobs and a backup a minute after the instance. */
export function stopCatchingUp({ app }: TestService): void {
  const registry = app.get(SchedulerRegistry, { strict: false });
  for (const name of registry.getTimeouts()) registry.deleteTimeout(name);
  if (registry.doesExist('interval', LOOK_AGAIN)) registry.deleteInterval(LOOK_AGAIN);
}
