import { StorageQuota } from '../assets/index.js';
import { Users } from '../auth/index.js';
import { BadRequest, NotFound } from '../platform/http/index.js';
import type { Report } from './report.js';
import { withService } from './with-service.js';

/** 1 PiB: with it, no sum of bytes comes near what a number can hold. */
export const MAX_ADDON_BYTES = 2 ** 50;

/** As the command has them; what is not given stays as it is. */
export interface StorageOptions {
  readonly addon?: number;
  readonly locked?: true;
  readonly unlocked?: true;
}

/** Sets what an account may store beyond its plan, locks or unlocks it. @throws BadRequest, NotFound */
export function setStorage(email: string, { addon, locked, unlocked }: StorageOptions): Promise<Report> {
  if (addon === undefined && !locked && !unlocked)
    throw new BadRequest('There is nothing to set: give --addon, --locked or --unlocked.');
  return withService(async (service) => {
    const user = await service.get(Users).findByEmail(email);
    if (!user) throw new NotFound(`there is no account ${email}`);
    const usage = await service.get(StorageQuota).set(user.id, {
      ...(addon === undefined ? {} : { addonBytes: addon }),
      ...(locked || unlocked ? { locked: locked === true } : {}),
    });
    const state = usage.locked ? 'locked: it can read and delete, but not upload' : 'not locked';
    const text = `${user.email} uses ${usage.usedBytes} of ${usage.quotaBytes} bytes (${usage.addonBytes} of them add-on) and is ${state}`;
    return { email: user.email, ...usage, text };
  });
}
