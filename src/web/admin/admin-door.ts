import { type ArgumentsHost, Catch, Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AccountSuspended } from '../../access/index.js';
import type { Acting } from '../../domain/auth/audit/index.js';
import { Administrators, type BrowserSession } from '../../domain/auth/index.js';
import { ERROR, type OperationDocs, page } from '../../platform/api-docs/index.js';
import { Configuration } from '../../platform/config/index.js';
import { ApiError, isEncodedUtf8, NotFound } from '../../platform/http/index.js';
import {
  ANSWERED,
  type BrowserRequest,
  BrowserRequests,
  Confirmations,
  Form,
  ONWARDS,
  OUT_OF_DATE,
  PageErrorFilter,
  PublicPages,
  redirect,
  sendPage,
} from '../layout/index.js';
import { type AdminPage, adminPage, confirmPage, type ConfirmProps } from './admin-layout.js';

/** The answer to callers who are not administrators: the same as for an unknown address. */
export class Hidden extends NotFound {
  constructor() {
    super('not found');
  }
}

/** Errors of the admin page, as pages; `Hidden` is answered like an unknown address. */
@Catch()
@Injectable()
export class AdminErrorFilter extends PageErrorFilter {
  override async catch(error: unknown, host: ArgumentsHost): Promise<void> {
    const { url } = host.switchToHttp().getRequest<FastifyRequest>();
    // A guard refuses such a query before the caller is identified.
    const isHidden = error instanceof Hidden || !isEncodedUtf8(url.slice(url.indexOf('?') + 1));
    if (!isHidden) return super.catch(error, host);
    const reply = host.switchToHttp().getResponse<FastifyReply>();
    await reply.status(404).type('application/json').send({ error: 'not found' });
  }
}

/** A controller of pages for administrators: see `PublicPages`. */
export const AdminPages = <Name extends string>(
  path: string,
  operations: Readonly<Record<Name, OperationDocs>>,
): ReturnType<typeof PublicPages<Name>> =>
  PublicPages(
    path,
    operations,
    'AdminDoor admits administrators; for everybody else there is nothing here',
    AdminErrorFilter,
  );

/** As for an unknown address: JSON, and a page for browsers. */
const HIDDEN = {
  description: 'nothing is here for the caller',
  content: { 'application/json': ERROR, 'text/html': {} },
};

/** Documentation of the answers of `AdminDoor.show`. */
export const SHOWN = { 200: page('the page'), 403: page('a form that asks for the password'), 404: HIDDEN };

/** The same of `AdminDoor.act`. */
export const ACTED = {
  ...ANSWERED,
  303: ONWARDS,
  404: HIDDEN,
  409: page('the page, which says why it was not done'),
};

export interface AdminRequest {
  readonly administrator: BrowserSession;
  readonly csrfToken: string;
  readonly query: Form;
}

/** A form posted by an administrator with a recent sign-in. */
export interface AdminAction extends AdminRequest {
  readonly form: Form;
  readonly by: Acting;
}

export interface Onwards {
  readonly location: string;
}

const HOME = '/admin';
const OUR_ADDRESS = /^\/admin(?:[/?][^\s\\]*)?$/;

/**
 * Admits administrators: promoted, not suspended, signed in with a second factor, which is checked on each request. For other
 * callers the pages do not exist. Without a recent sign-in, an administrator must give the password before anything is shown.
 */
@Injectable()
export class AdminDoor {
  constructor(
    private readonly browserRequests: BrowserRequests,
    private readonly administrators: Administrators,
    private readonly confirmations: Confirmations,
    private readonly configuration: Configuration,
  ) {}

  /** @throws Hidden */
  async show(
    request: FastifyRequest,
    reply: FastifyReply,
    render: (request: AdminRequest) => Promise<AdminPage>,
  ): Promise<void> {
    const { browserRequest, session } = await this.admit(request);
    if (await this.confirmations.areNeeded(browserRequest)) {
      const fields = [['next', request.url]] as const;
      return this.ask(reply, browserRequest, { action: `${HOME}/confirm`, fields, status: 403 });
    }
    const query = Form.ofQuery(request);
    const page = await render({ administrator: session, csrfToken: browserRequest.csrfToken.value, query });
    return this.send(reply, browserRequest, page);
  }

  /** Processes a form. Without a recent sign-in, asks for the password and then processes the same form. @throws Hidden */
  async act(
    request: FastifyRequest,
    reply: FastifyReply,
    work: (action: AdminAction) => Promise<AdminPage | Onwards>,
  ): Promise<void> {
    const { browserRequest, session } = await this.admit(request);
    const form = await Form.read(request);
    if (!this.browserRequests.hasValidCsrfToken(request, browserRequest, form))
      return this.send(reply, browserRequest, { title: 'Not done', alert: OUT_OF_DATE, status: 403 });
    const rejected = await this.confirmations.check(form, browserRequest);
    if (rejected) {
      const action = request.url;
      return this.ask(reply, browserRequest, { action, fields: form.others(), ...rejected });
    }
    const by = { actor: 'administrator', actorId: session.userId, ...browserRequest.client } as const;
    const csrfToken = browserRequest.csrfToken.value;
    const query = Form.ofQuery(request);
    const result = await work({ administrator: session, csrfToken, query, form, by }).catch(explained);
    if ('location' in result) return redirect(reply, result.location, browserRequest.cookies);
    return this.send(reply, browserRequest, result);
  }

  /** Continues to the requested page, after the password was confirmed. */
  onwards({ form }: AdminAction): Onwards {
    const next = form.text('next');
    return { location: OUR_ADDRESS.test(next) ? next : HOME };
  }

  private async admit(
    request: FastifyRequest,
  ): Promise<{ browserRequest: BrowserRequest; session: BrowserSession }> {
    const browserRequest = await this.browserRequests.read(request).catch((error: unknown) => {
      throw error instanceof AccountSuspended ? new Hidden() : error;
    });
    const { session } = browserRequest;
    if (!session || !(await this.administrators.isAdmitted(session))) throw new Hidden();
    return { browserRequest, session };
  }

  private ask(
    reply: FastifyReply,
    { csrfToken, cookies }: BrowserRequest,
    { status, headers = {}, ...asked }: AskedForm,
  ): Promise<void> {
    const { publicHost: host } = this.configuration;
    const content = confirmPage({ host, csrfToken: csrfToken.value, ...asked });
    return sendPage(reply, { status, headers, content, formTargets: ["'self'"], cookies });
  }

  private send(reply: FastifyReply, { cookies }: BrowserRequest, page: AdminPage): Promise<void> {
    const content = adminPage({ host: this.configuration.publicHost, ...page });
    return sendPage(reply, { status: page.status ?? 200, content, formTargets: ["'self'"], cookies });
  }
}

interface AskedForm extends Omit<ConfirmProps, 'host' | 'csrfToken'> {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A page with the message of a service's refusal. @throws any other error, also NotFound */
function explained(error: unknown): AdminPage {
  if (!(error instanceof ApiError) || ![400, 409, 422].includes(error.status)) throw error;
  const { message, status } = error;
  const sentence = `${message.charAt(0).toUpperCase()}${message.slice(1)}.`;
  return { title: 'Not done', alert: `${sentence} Nothing was changed: go back and try again.`, status };
}
