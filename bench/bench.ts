import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Account } from './servers/account.js';
import { type BareServer, startBareServer } from './servers/bare.js';
import { type Service, startService } from './servers/service.js';

/** The resources of a run: each is started on first use, and all are stopped at the end. */
export class Bench {
  private readonly stops: (() => Promise<unknown>)[] = [];
  private readonly made = new Map<string, Promise<unknown>>();

  /** @param isLong whether cases may take many minutes */
  constructor(
    private readonly directory: string,
    readonly isLong: boolean,
  ) {}

  /** An empty directory that is removed after the run. */
  async place(name: string): Promise<string> {
    const path = join(this.directory, name);
    await mkdir(path, { recursive: true });
    return path;
  }

  service(): Promise<Service> {
    return this.once('service', async () => this.ending(await startService(await this.place('service'))));
  }

  account(): Promise<Account> {
    return this.once('account', async () => Account.signUp((await this.service()).url));
  }

  /** The bare server that stores each body in a file. */
  bareWithFiles(): Promise<BareServer> {
    return this.once('bare_files', async () =>
      this.ending(
        await startBareServer(await this.service(), 'bare_files', { blobs: await this.place('bare-files') }),
      ),
    );
  }

  /** The bare server that stores no bodies. */
  bareWithoutBlobs(): Promise<BareServer> {
    return this.once('bare_rows', async () =>
      this.ending(await startBareServer(await this.service(), 'bare_rows')),
    );
  }

  /** The same, with the token of each request verified. */
  bareWithTokens(): Promise<BareServer> {
    return this.once('bare_tokens', async () =>
      this.ending(await startBareServer(await this.service(), 'bare_tokens', { checksTokens: true })),
    );
  }

  /** A separate bench that shares nothing with this one. */
  fresh(name: string): Bench {
    return this.ending(new Bench(join(this.directory, name), this.isLong));
  }

  /** Stops a resource at the end of the run. */
  ending<T extends { stop(): Promise<unknown> }>(started: T): T {
    this.stops.push(() => started.stop());
    return started;
  }

  /** Stops in reverse order of starting, so that nothing loses a dependency. */
  async stop(): Promise<void> {
    for (const stop of this.stops.splice(0).reverse()) await stop();
  }

  once<T>(name: string, make: () => Promise<T>): Promise<T> {
    const made = this.made.get(name) ?? make();
    this.made.set(name, made);
    return made as Promise<T>;
  }
}
