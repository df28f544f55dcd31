import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import {
  type AccountClaim,
  type Client,
  GuessLimit,
  type LinkTarget,
  PASSWORD_FAULTS,
  type ProofFault,
  type RecoveryFault,
} from '../../domain/auth/index.js';
import { type Form, type Page, withAlert } from '../layout/index.js';
import { confirmedPage, confirmPage, deadLinkPage } from './confirm-page.js';
import { LinkForms, type PageContext } from './link-forms.js';

/** A kind of link that confirms an address. */
export interface ConfirmLink {
  /** The path of its page. */
  readonly path: string;
  /** The account and the address that the token confirms; undefined when the link does not work. */
  readonly find: (token: string) => Promise<LinkTarget | undefined>;
  /** Whether a browser that is signed in to the account needs no password. */
  readonly trustsSession: boolean;
  /** Uses the link. Returns what is wrong, if anything. */
  readonly confirm: (token: string, claim: AccountClaim) => Promise<ProofFault | undefined>;
  /** Uses the link for a new password instead, and ends all earlier access. Returns what is wrong, if anything. */
  readonly startAnew?: (
    token: string,
    newPassword: string,
    client: Client,
  ) => Promise<RecoveryFault | undefined>;
}

type Fault = ProofFault | RecoveryFault;

const FAULTS: Readonly<Record<Exclude<Fault, 'INVALID_TOKEN'>, string>> = {
  ...PASSWORD_FAULTS,
  INVALID_PASSWORD: 'This is not the password of the account.',
  CREDENTIAL_ACCOUNT_NOT_FOUND:
    'The account has no password. Sign in to it in this browser and open the link again, or start anew where that is offered.',
};

/** The pages behind links that confirm an address. */
@Injectable()
export class ConfirmForms {
  constructor(
    private readonly forms: LinkForms,
    private readonly guessLimit: GuessLimit,
  ) {}

  async open(request: FastifyRequest, reply: FastifyReply, link: ConfirmLink): Promise<void> {
    await this.forms.open(request, reply, link.path, (context) => this.page(request, context, link));
  }

  async confirm(request: FastifyRequest, reply: FastifyReply, link: ConfirmLink): Promise<void> {
    const show = (context: PageContext): Promise<Page> => this.page(request, context, link);
    await this.forms.receive(request, reply, show, async (form, { client }, context) => {
      const token = this.forms.tokenOf(request, link.path);
      const claim = { password: form.get('password') ?? '', signedInUserId: context.userId, ...client };
      const fault = await this.use(link, token, form, claim).catch(withAlert);
      if (!fault) return { content: confirmedPage(context), cookies: [this.forms.forgetToken(link.path)] };
      if (fault === 'INVALID_TOKEN') return { content: deadLinkPage(context), status: 422 };
      if (typeof fault !== 'string')
        return { ...(await this.page(request, { ...context, alert: fault.alert }, link)), ...fault };
      const at = fault in PASSWORD_FAULTS ? 'newPassword' : 'password';
      return { ...(await this.page(request, context, link, { [at]: FAULTS[fault] })), status: 422 };
    });
  }

  private async use(
    { confirm, startAnew }: ConfirmLink,
    token: string,
    form: Form,
    claim: AccountClaim,
  ): Promise<Fault | undefined> {
    await this.guessLimit.count('confirm-address', claim.ip);
    const newPassword = form.get('new_password');
    if (newPassword === undefined || !startAnew) return confirm(token, claim);
    return startAnew(token, newPassword, claim);
  }

  private async page(
    request: FastifyRequest,
    context: PageContext,
    link: ConfirmLink,
    faults: { password?: string; newPassword?: string } = {},
  ): Promise<Page> {
    const target = await link.find(this.forms.tokenOf(request, link.path));
    if (!target) return { content: deadLinkPage(context), status: 422 };
    const { userId, email } = target;
    const needsPassword = !link.trustsSession || context.userId !== userId;
    const canStartAnew = link.startAnew !== undefined;
    const props = { ...context, email, action: link.path, needsPassword, canStartAnew, faults };
    return { content: confirmPage(props) };
  }
}
