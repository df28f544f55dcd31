import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FaultProxy } from './fault-proxy.js';
import { startService, type TestService } from './service.js';
import type { TestUser } from './user.js';

/** The real service behind a proxy, a user, and a directory for the folders of each test. */
export class ProxiedService {
  home = '';

  private constructor(
    readonly service: TestService,
    readonly proxy: FaultProxy,
    readonly user: TestUser,
  ) {}

  static async start(): Promise<ProxiedService> {
    const service = await startService();
    return new ProxiedService(service, await FaultProxy.before(service.url), await service.user('ada'));
  }

  /** Call before each test: empties the directory, the faults and the recorded requests. */
  begin(): void {
    this.home = mkdtempSync(join(tmpdir(), 'folders-'));
    this.proxy.heal();
    this.proxy.requests.length = 0;
  }

  /** Call after each test. */
  end(): void {
    rmSync(this.home, { recursive: true, force: true });
  }

  async close(): Promise<void> {
    await this.proxy.close();
    await this.service.close();
  }
}
