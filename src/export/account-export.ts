import { Injectable } from '@nestjs/common';
import { VERSION } from '../config/index.js';
import { OwedUnsubscriptions } from '../devices/index.js';
import { Clock } from '../platform/clock/index.js';
import { BEFORE_ALL_IDS, Database } from '../platform/database/index.js';
import { Unauthorized } from '../platform/http/index.js';
import { WorkspacesOfUser } from '../workspaces/index.js';
import { type Entry, tarOf, textEntry } from './archive.js';
import { ExportLists, type List } from './export-lists.js';
import { exportStatements } from './export.queries.js';
import { README } from './readme.js';
import { type ExportedWorkspace, WorkspaceExport } from './workspace-export.js';

const byId = (statement: List['statement'], start: string | number): List<{ id: string | number }> => ({
  statement,
  start: [start],
  positionOf: ({ id }) => [id],
});

const ACCOUNT_LISTS: readonly [string, List<never>][] = [
  ['devices', byId(exportStatements.devices, BEFORE_ALL_IDS)],
  ['tokens', byId(exportStatements.tokens, BEFORE_ALL_IDS)],
  ['sessions', byId(exportStatements.sessions, BEFORE_ALL_IDS)],
  ['key-sessions', byId(exportStatements.keySessions, BEFORE_ALL_IDS)],
  [
    'networks',
    {
      statement: exportStatements.networks,
      start: [''],
      positionOf: ({ network }: { network: string }) => [network],
    },
  ],
  [
    'notices',
    {
      statement: exportStatements.notices,
      start: ['', new Date(0)],
      positionOf: ({ notice, about }: { notice: string; about: Date }) => [notice, about],
    },
  ],
  ['payments', byId(exportStatements.payments, '')],
  ['audit', byId(exportStatements.audit, 0)],
];

/** Everything that the service holds of an account, without secrets: docs/reference/export-format.md has the format. */
@Injectable()
export class AccountExport {
  constructor(
    private readonly database: Database,
    private readonly lists: ExportLists,
    private readonly workspacesOfUser: WorkspacesOfUser,
    private readonly workspaceExport: WorkspaceExport,
    private readonly clock: Clock,
    private readonly owed: OwedUnsubscriptions,
  ) {}

  /**
   * The bytes of the tar, read at the pace of their reader. An error ends them before the manifest.
   * @throws Unauthorized when the account does not exist
   */
  async begin(userId: string): Promise<AsyncGenerator<Buffer, void>> {
    const [account] = await this.database.run<object>(exportStatements.account, [userId]);
    if (!account) throw new Unauthorized();
    if (this.database.isDistributed) await this.reach(userId);
    const exportedAt = this.clock.now();
    const workspaces: ExportedWorkspace[] = [];
    const manifest = (): object => ({
      format: 'account-export',
      formatVersion: 1,
      serviceVersion: VERSION,
      accountId: userId,
      exportedAt,
      workspaces,
    });
    return tarOf(this.entries(userId, account, workspaces), manifest, exportedAt);
  }

  /**
   * Nothing of deleted devices is exported. A node that is away is told before the answer begins: an answer that ends early looks
   * like a broken connection.
   */
  private async reach(userId: string): Promise<void> {
    const ids = (await this.workspacesOfUser.oldest(userId)).map(({ id }) => id);
    await this.database.run(exportStatements.reach, [ids]);
    await this.owed.settle(ids);
  }

  private async *entries(
    userId: string,
    account: object,
    workspaces: ExportedWorkspace[],
  ): AsyncGenerator<Entry, void> {
    yield textEntry('README.txt', README);
    yield textEntry('account.json', `${JSON.stringify(account, null, 1)}\n`);
    for (const [name, list] of ACCOUNT_LISTS) yield* this.lists.files(userId, userId, name, list);
    for (const { id } of await this.workspacesOfUser.oldest(userId)) {
      const exported = yield* this.workspaceExport.entries(userId, id);
      if (exported) workspaces.push(exported);
    }
    await this.lists.checkStillAllowed(userId);
  }
}
