import { Get, Injectable, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import { type AuditEvent, AuditLog } from '../../domain/auth/audit/index.js';
import { page } from '../../platform/api-docs/index.js';
import { Configuration } from '../../platform/config/index.js';
import {
  auditSentence,
  BrowserRequests,
  clientName,
  Form,
  ONWARDS,
  positionIn,
  PublicPages,
  redirect,
  sendPage,
  SitePage,
  SUSPENDED,
  Time,
} from '../layout/index.js';

export const EVENTS_OF_PAGE = 50;

/** Events, newest first. */
export interface ActivityPage {
  readonly events: readonly AuditEvent[];
  /** Whether there are older events. */
  readonly hasMore: boolean;
}

/** The account page's section with the audit events of the account. */
export function LatestActivity({ activity }: { readonly activity: ActivityPage }): VNode {
  return (
    <>
      <p class="hint">What was done to your account. Something you do not know? Change your password.</p>
      <details>
        <summary>Show what was done</summary>
        <Events activity={activity} />
      </details>
    </>
  );
}

export function activityPage({ host, activity }: { host: string; activity: ActivityPage }): VNode {
  return (
    <SitePage title="Activity" host={host} isWide>
      <p>
        <a href="/account">Back to the account</a>
      </p>
      <Events activity={activity} />
    </SitePage>
  );
}

function Events({ activity: { events, hasMore } }: { readonly activity: ActivityPage }): VNode {
  const oldest = events.at(-1);
  return (
    <>
      {events.length === 0 && <p class="hint">Nothing was recorded.</p>}
      <ul class="things">
        {events.map((event) => (
          <li key={event.id}>
            <div>
              <p>{auditSentence(event)}</p>
              <p class="hint">
                <Time at={event.at} /> {whoIn(event)}
              </p>
            </div>
          </li>
        ))}
      </ul>
      {hasMore && oldest && (
        <p>
          <a href={`/account/activity?before=${oldest.id}`}>Older activity</a>
        </p>
      )}
    </>
  );
}

const OTHERS: Readonly<Record<Exclude<AuditEvent['actor'], 'user'>, string>> = {
  operator: 'by the operator of this service',
  administrator: 'by an administrator of this service',
  service: 'by the service',
};

/** Hides the address and the client of operators and administrators from the user. */
function whoIn({ actor, ip, userAgent }: AuditEvent): string {
  if (actor !== 'user') return OTHERS[actor];
  return [userAgent && `with ${clientName(userAgent)}`, ip && `from ${ip}`].filter(Boolean).join(' ');
}

/** The audit events of an account, for its user. */
@Injectable()
export class Activity {
  constructor(private readonly audit: AuditLog) {}

  /** @param before an id: only older events */
  async of(userId: string, before?: number): Promise<ActivityPage> {
    const found = await this.audit.ofUser(userId, EVENTS_OF_PAGE + 1, before);
    return { events: found.slice(0, EVENTS_OF_PAGE), hasMore: found.length > EVENTS_OF_PAGE };
  }
}

const OPERATIONS = {
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
};

/** Older events of the account page's section "Activity", page by page. */
@PublicPages('account/activity', OPERATIONS, 'the page has its own session and cookie checks')
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
    const activity = await this.activity.of(session.userId, positionIn(Form.ofQuery(request)));
    const content = activityPage({ host: this.configuration.publicHost, activity });
    return sendPage(reply, { content, cookies });
  }
}
