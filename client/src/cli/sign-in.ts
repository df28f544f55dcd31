import { spawn } from 'node:child_process';
import { Handoff, Session } from '../core/index.js';
import type { Context } from './context.js';
import { UsageError } from './errors.js';
import type { Credentials } from './synced-folder.js';

export interface SignInOptions {
  /** Sign in with a personal access token instead of the page of the service. */
  readonly token?: boolean;
  /** False: print the address of the page without opening it. */
  readonly browser?: boolean;
}

export interface SignedIn {
  readonly session: Session;
  readonly credentials: Credentials;
}

/** Uses a token if one is given, otherwise the page of the service, which also asks for a second factor. */
export async function signIn(context: Context, service: string, options: SignInOptions): Promise<SignedIn> {
  const { env, interruption, prompt } = context;
  if (options.token === true || env['ACCESS_TOKEN'] !== undefined) {
    const accessToken = (await prompt.secret('Personal access token: ', 'ACCESS_TOKEN')).trim();
    const session = Session.withAccessToken(service, accessToken, interruption.http());
    return { session, credentials: { accessToken } };
  }
  const session = await byPage(context, service, options.browser !== false);
  const { sessionToken = '' } = session;
  return { session, credentials: { sessionToken } };
}

/**
 * Signs in on the page. The page ends with a link of the service's own scheme; a command cannot receive that, so the user
 * pastes the link. It works once, within three minutes, and only for this attempt.
 */
async function byPage(
  { output, prompt, interruption }: Context,
  service: string,
  opens: boolean,
): Promise<Session> {
  const handoff = await Handoff.begin(service);
  output.note(`Sign in on this page: ${handoff.url}`);
  output.note(`It shows this code: ${handoff.code}`);
  if (opens && prompt.isInteractive) open(handoff.url);
  for (;;) {
    const link = await prompt.line('Copy the link that the page gives, and paste it here: ');
    try {
      return await handoff.finish(link, interruption.http());
    } catch (error) {
      if (!(error instanceof TypeError) || !prompt.isInteractive) throw asUsage(error);
      output.note('This is not the link of this attempt: try again.');
    }
  }
}

const asUsage = (error: unknown): unknown =>
  error instanceof TypeError ? new UsageError(error.message, { cause: error }) : error;

/** Best effort: without a browser, the user copies the address. */
function open(url: string): void {
  const command = process.platform === 'darwin' ? 'open' : 'xdg-open';
  const child = spawn(command, [url], { stdio: 'ignore', detached: true });
  child.on('error', () => undefined);
  child.unref();
}
