import { Controller, Get, Req, Res, UseFilters } from '@nestjs/common';
import { isUUID } from 'class-validator';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Public } from '../../access/index.js';
import { Documented } from '../../platform/api-docs/index.js';
import { type AuditEvent, AuditLog } from '../../domain/auth/audit/index.js';
import { Users } from '../../domain/auth/index.js';
import type { Form } from '../layout/index.js';
import { BadRequest } from '../../platform/http/index.js';
import { AdminDoor } from './admin-door.js';
import { AUDIT_DOCS } from './admin-pages.docs.js';
import { auditView } from './audit-view.js';
import { AdminErrorFilter } from './hidden.js';

const EVENTS_OF_PAGE = 100;

/** The audit log, for administrators. */
@Controller('admin/audit')
@Documented(AUDIT_DOCS)
@Public('AdminDoor admits administrators; for everybody else there is nothing here')
@UseFilters(AdminErrorFilter)
export class AuditController {
  constructor(
    private readonly door: AdminDoor,
    private readonly audit: AuditLog,
    private readonly users: Users,
  ) {}

  @Get()
  async show(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.door.show(request, reply, async ({ query }) => {
      const user = query.text('user');
      const found = await this.events(user, positionIn(query));
      const events = found.slice(0, EVENTS_OF_PAGE);
      const emails = await this.users.emails(events.flatMap(({ userId, actorId }) => [userId, actorId]));
      return {
        title: 'Audit log',
        section: 'Audit',
        content: auditView({ events, emails, user, hasMore: found.length > events.length }),
      };
    });
  }

  /** @param user an address, or the id of an account that may be deleted; empty for all */
  private async events(user: string, before: number | undefined): Promise<AuditEvent[]> {
    if (user === '') return this.audit.page(EVENTS_OF_PAGE + 1, before);
    const id = isUUID(user) ? user : (await this.users.findByEmail(user))?.id;
    return id === undefined ? [] : this.audit.ofUser(id, EVENTS_OF_PAGE + 1, before);
  }
}

/** @throws BadRequest */
function positionIn(query: Form): number | undefined {
  const before = query.text('before');
  if (before === '') return undefined;
  if (!/^[1-9]\d{0,14}$/.test(before)) throw new BadRequest('before is not the id of an event');
  return Number(before);
}
