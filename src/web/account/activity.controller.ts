import { Controller, Get, Injectable, Req, Res, UseFilters } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Public } from '../../access/index.js';
import { Documented, page } from '../../platform/api-docs/index.js';
import { AuditLog } from '../../domain/auth/audit/index.js';
import { Configuration } from '../../platform/config/index.js';
import {
  BrowserRequests,
  Form,
  ONWARDS,
  PageErrorFilter,
  redirect,
  sendPage,
  SUSPENDED,
} from '../layout/index.js';
import { BadRequest } from '../../platform/http/index.js';
import { type ActivityPage, activityPage, EVENTS_OF_PAGE } from './activity-section.js';

/** What was done to an account, as its user sees it. */
@Injectable()
export class Activity {
  constructor(private readonly audit: AuditLog) {}

  /** @param before an id: only older events */
  async of(userId: string, before?: number): Promise<ActivityPage> {
    const found = await this.audit.ofUser(userId, EVENTS_OF_PAGE + 1, before);
    return { events: found.slice(0, EVENTS_OF_PAGE), hasMore: found.length > EVENTS_OF_PAGE };
  }
}

/** The position of a page of events, from the query; undefined for the newest. @throws BadRequest */
export function positionIn(request: FastifyRequest): number | undefined {
  const before = Form.ofQuery(request).text('before');
  if (before === '') return undefined;
  if (!/^[1-9]\d{0,14}$/.test(before)) throw new BadRequest('before is not the id of an event');
  return Number(before);
}

const ACTIVITY_DOCS = {
  tag: 'Pages',
  isPage: true,
  operations: {
    show: {
      summary: 'Show what was done to the account',
      query: { before: { description: 'The id of an event: only older ones.' } },
      answers: {
        200: page('the page'),
        303: ONWARDS,
        400: 'before is not the id of an event',
        403: SUSPENDED,
      },
    },
  },
} as const;

/** More of the account page's section "Activity", page by page. */
@Controller('account/activity')
@Documented(ACTIVITY_DOCS)
@Public('the page has its own session and cookie checks')
@UseFilters(PageErrorFilter)
export class ActivityController {
  constructor(
    private readonly browserRequests: BrowserRequests,
    private readonly activity: Activity,
    private readonly configuration: Configuration,
  ) {}

  @Get()
  async show(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { session, cookies } = await this.browserRequests.read(request);
    if (!session) return redirect(reply, '/account', cookies);
    const activity = await this.activity.of(session.userId, positionIn(request));
    const content = activityPage({ host: this.configuration.publicHost, activity });
    return sendPage(reply, { content, cookies });
  }
}
