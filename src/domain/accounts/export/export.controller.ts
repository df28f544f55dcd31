import { Controller, Get, Injectable, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Readable } from 'node:stream';
import { CurrentPrincipal, Interactive, type Principal, Transfer } from '../../../access/index.js';
import { Documented } from '../../../platform/api-docs/index.js';
import { Clock } from '../../../platform/clock.js';
import {
  InFlightRequests,
  noteFault,
  ReadAhead,
  ServiceUnavailable,
  whileRead,
  WorkSlot,
} from '../../../platform/http/index.js';
import { type FairSemaphore, Queues } from '../../../platform/limits/index.js';
import { AuditLog, byUser } from '../../auth/audit/index.js';
import { EndedSessions, RecentSignIn, SessionEnded } from '../../auth/index.js';
import { AccountExport } from './account-export.js';

/** Limits exports that are reading from the database and the blob store. An export whose client does not read holds a few MiB. */
const LIMITS = {
  atOnce: 16,
  waiting: 128,
  perOwner: { atOnce: 1, waiting: 1 },
  waitMs: 10_000,
  busy: 'too many exports are under way',
};
const HELD_BYTES = 4 * 1024 * 1024;
/** Contents read ahead while earlier ones wait for the client. */
const AHEAD_BYTES = 1024 * 1024;
const RETRY_AFTER_S = 60;

/** The user who requests an export, and the session: the export ends with it. */
export type Exporter = Pick<Principal, 'userId' | 'sessionId'>;

/** Sends exports: one at a time for each user. */
@Injectable()
export class ExportDownload {
  private readonly underWay = new Set<string>();
  private readonly slots: FairSemaphore;

  constructor(
    private readonly accountExport: AccountExport,
    private readonly audit: AuditLog,
    private readonly inFlight: InFlightRequests,
    private readonly clock: Clock,
    private readonly endedSessions: EndedSessions,
    queues: Queues,
  ) {
    this.slots = queues.open('exports', LIMITS);
  }

  /**
   * Resolves when the response has started. A fault later closes the connection: a partial export never looks complete.
   * @throws ServiceUnavailable while the user, or too many others, download an export; Unauthorized when the account is deleted
   */
  async send(request: FastifyRequest, reply: FastifyReply, { userId, sessionId }: Exporter): Promise<void> {
    this.checkRoom(userId);
    this.underWay.add(userId);
    this.inFlight.whenOver(reply.raw, () => this.underWay.delete(userId));
    const place = new WorkSlot(() => this.slots.take(userId));
    const begun = place.during(() => this.accountExport.begin(userId));
    const chunks = whileRead(reply.raw, this.whileSessionLasts(sessionId, await begun), {
      place,
      mostHeld: HELD_BYTES,
      ahead: new ReadAhead(AHEAD_BYTES),
    });
    await this.audit.record({ action: 'account.exported', userId, ...byUser(request) });
    const body = Readable.from(watched(request, chunks), { highWaterMark: 1 });
    this.inFlight.whenOver(reply.raw, () => body.destroy());
    void reply.headers(this.headers()).send(body);
  }

  /** Sends the headers of `send`, without an export. */
  head(reply: FastifyReply): void {
    void reply.headers(this.headers()).send(Readable.from([]));
  }

  /** @throws SessionEnded once this instance knows that the session of the export has ended */
  private async *whileSessionLasts(
    sessionId: string | undefined,
    chunks: AsyncGenerator<Buffer, void>,
  ): AsyncGenerator<Buffer, void> {
    for await (const chunk of chunks) {
      if (sessionId !== undefined && this.endedSessions.has(sessionId)) throw new SessionEnded();
      yield chunk;
    }
  }

  private checkRoom(userId: string): void {
    if (this.underWay.has(userId))
      throw new ServiceUnavailable(
        'an export of this account is under way: wait for it to end',
        RETRY_AFTER_S,
      );
  }

  private headers(): Readonly<Record<string, string>> {
    const day = this.clock.now().toISOString().slice(0, 10);
    return {
      'content-type': 'application/x-tar',
      'content-disposition': `attachment; filename="export-${day}.tar"`,
    };
  }
}

/** Records a fault that ends the export early. */
async function* watched(
  request: FastifyRequest,
  chunks: AsyncGenerator<Buffer, void>,
): AsyncGenerator<Buffer, void> {
  try {
    yield* chunks;
  } catch (error) {
    noteFault(request, error);
    throw error;
  }
}

const EXPORT_DOCS = {
  tag: 'Account',
  operations: {
    download: {
      summary: 'Export everything that the service holds of the account',
      description:
        'A tar with the account, its devices, tokens and sessions without secrets, and all workspaces: files, versions, changes, checkpoints and attachments as ciphertext. An export that was cut off lacks `manifest.json`, its last file. docs/reference/export-format.md has the format.',
      answers: {
        200: {
          description: 'the archive',
          content: { 'application/x-tar': {} },
          headers: { 'Content-Disposition': 'A file name with the date.' },
        },
        403: 'the user last signed in more than ten minutes ago, or the token is not a JWT of a session',
        503: 'an export of this account is under way, or too many others are',
      },
    },
  },
} as const;

/** Extension of the contract. */
@Controller('api/v1/auth/me/export')
@Documented(EXPORT_DOCS)
@Interactive()
export class ExportController {
  constructor(
    private readonly exportDownload: ExportDownload,
    private readonly recentSignIn: RecentSignIn,
  ) {}

  @Transfer()
  @Get()
  async download(
    @CurrentPrincipal() principal: Principal,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    this.recentSignIn.require(principal);
    if (request.method === 'HEAD') this.exportDownload.head(reply);
    else await this.exportDownload.send(request, reply, principal);
  }
}
