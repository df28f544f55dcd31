import { Injectable } from '@nestjs/common';
import { KillSwitch, type Mode } from '../../../platform/kill-switch/index.js';
import type { Acting } from './acting.js';
import { AuditLog } from './audit-log.js';

/** The kill switch, as operators and administrators set it: recorded in the transaction that sets it. */
@Injectable()
export class AuditedKillSwitch {
  constructor(
    private readonly killSwitch: KillSwitch,
    private readonly audit: AuditLog,
  ) {}

  get mode(): Mode {
    return this.killSwitch.mode;
  }

  /** Every instance follows within five seconds. */
  async set(mode: Mode, by: Acting): Promise<void> {
    const entry = { action: 'kill-switch.set', ...by, details: { mode } } as const;
    await this.killSwitch.set(mode, (tx) => this.audit.recordOfService(entry, tx));
  }
}
