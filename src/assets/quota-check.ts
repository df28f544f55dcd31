import { Injectable } from '@nestjs/common';
import type { Examination, Finding } from '../platform/doctor/index.js';
import { StorageQuota } from './storage-quota.js';

/** Looks whether each account's count is the sum of its assets. */
@Injectable()
export class QuotaCheck {
  constructor(private readonly quota: StorageQuota) {}

  /** With `fix` it counts anew, beside uploads and deletions that go on. */
  async *drift({ fix }: Examination): AsyncGenerator<Finding> {
    const wrong = fix ? await this.quota.repair() : await this.quota.drift();
    for (const { userId, usedBytes, actualBytes } of wrong) {
      yield {
        fault: 'quota drift',
        subject: `account ${userId}`,
        problem: `It counts ${usedBytes} bytes of assets and has ${actualBytes}.`,
        cure: 'Run `doctor --fix`: it counts anew.',
        isFixed: fix,
      };
    }
  }
}
