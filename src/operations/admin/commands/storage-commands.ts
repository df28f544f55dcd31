import { type Command, Option } from 'commander';
import { StorageQuota, type StorageUsage } from '../../../domain/assets/index.js';
import { bytesUpTo, type DryRun, dryRunOption, emailArgument } from '../arguments.js';
import type { Report, Run } from '../report.js';
import { accountOf, withService } from '../with-service.js';

/** `storage set`. */
export function addStorage(program: Command, run: Run): void {
  const set = program.command('storage').description('asset storage of accounts').command('set');
  set
    .addArgument(emailArgument())
    .option('--addon <bytes>', 'bytes in addition to the plan', bytesUpTo(MAX_ADDON_BYTES))
    .addOption(new Option('--locked', 'refuse uploads').conflicts('unlocked'))
    .option('--unlocked', 'accept uploads again')
    .addOption(dryRunOption())
    .description('set add-on bytes, lock or unlock; omitted options change nothing')
    .action((address: string, { dryRun, ...options }: DryRun & StorageOptions) => {
      if (Object.keys(options).length === 0)
        set.error('There is nothing to set: give --addon, --locked or --unlocked.');
      return run(() => (dryRun ? previewStorage(address, options) : setStorage(address, options)));
    });
}

/** 1 PiB: keeps all sums of bytes far below the largest safe integer. */
const MAX_ADDON_BYTES = 2 ** 50;

/** The command's options; omitted ones leave the setting unchanged. */
interface StorageOptions {
  readonly addon?: number;
  readonly locked?: true;
  readonly unlocked?: true;
}

/** Sets an account's storage beyond its plan, and locks or unlocks it. @throws NotFound */
function setStorage(email: string, options: StorageOptions): Promise<Report> {
  return withService(async (service) => {
    const user = await accountOf(service, email);
    const usage = await service.get(StorageQuota).set(user.id, partsOf(options));
    return { email: user.email, ...usage, text: inWords(user.email, 'uses', usage, 'is') };
  });
}

/** Reports the result that `setStorage` would have. @throws NotFound */
function previewStorage(email: string, options: StorageOptions): Promise<Report> {
  return withService(async (service) => {
    const user = await accountOf(service, email);
    const before = await service.get(StorageQuota).usage(user.id);
    const after = { ...before, ...partsOf(options) };
    const usage = { ...after, quotaBytes: before.quotaBytes - before.addonBytes + after.addonBytes };
    const text = inWords(user.email, 'would use', usage, 'would be');
    return { dryRun: true, email: user.email, ...usage, text };
  });
}

function partsOf({ addon, locked, unlocked }: StorageOptions): Partial<StorageUsage> {
  return {
    ...(addon === undefined ? {} : { addonBytes: addon }),
    ...(locked || unlocked ? { locked: locked === true } : {}),
  };
}

function inWords(email: string, uses: string, usage: StorageUsage, is: string): string {
  const { usedBytes, quotaBytes, addonBytes, locked } = usage;
  const state = locked ? 'locked: it can read and delete, but not upload' : 'not locked';
  return `${email} ${uses} ${usedBytes} of ${quotaBytes} bytes (${addonBytes} of them add-on) and ${is} ${state}`;
}
