import type { VNode } from 'preact';
import type { Configuration } from '../../platform/config/index.js';
import { CheckMail, CodeStep } from './code-step.js';
import { Field, Hidden, Messages, NewPasswordField } from './fields.js';
import { assetPath, PASSKEY_SCRIPT } from './page-assets.js';
import type { RejectedSignIn } from './sign-in-forms.js';

/** Signs in with a passkey, then opens `returnTo`. The script shows the button in browsers with passkeys, and hides the hint. */
export function PasskeyButton({ returnTo }: { readonly returnTo: string }): VNode {
  return (
    <>
      <div class="passkey" data-passkey hidden>
        <p class="fault" role="alert" data-passkey-fault hidden />
        <button type="button" class="quiet" data-passkey-sign-in={returnTo}>
          Sign in with a passkey
        </button>
        <PasskeyScript />
      </div>
      <p class="hint" data-without-script>
        Signing in with a passkey needs JavaScript.
      </p>
    </>
  );
}

/** The script for passkeys on a page. Without it, everything for them stays hidden. */
export function PasskeyScript(): VNode {
  return <script src={assetPath(PASSKEY_SCRIPT)} defer />;
}

/** The path of the form. */
export const SINGLE_SIGN_ON = '/auth/single-sign-on';

/** The pages on which a sign-in through the provider can begin. */
export type SingleSignOnPage = 'account' | 'desktop' | 'web';

/** The provider, for the sign-in forms of a page. */
export interface SingleSignOnOption {
  readonly name: string;
  /** Whether passwords are switched off. */
  readonly isOnly: boolean;
  readonly page: SingleSignOnPage;
}

export function singleSignOnOption(
  { oidcName, oidcOnly, hasSingleSignOn }: Configuration,
  page: SingleSignOnPage,
): SingleSignOnOption | undefined {
  return hasSingleSignOn ? { name: oidcName ?? '', isOnly: oidcOnly, page } : undefined;
}

interface SingleSignOnFormProps {
  readonly option: SingleSignOnOption;
  /** The CSRF token, and what the page needs to be shown again. */
  readonly hidden: Readonly<Record<string, string>>;
  /** Whether the provider must ask for the password again: to confirm who the user is. */
  readonly isFresh?: boolean;
}

export function SingleSignOnForm({ option, hidden, isFresh = false }: SingleSignOnFormProps): VNode {
  const { name, page } = option;
  const verb = isFresh ? 'Confirm' : 'Continue';
  const fields = { ...hidden, page, ...(isFresh ? { fresh: 'yes' } : {}) };
  return (
    <form method="post" action={SINGLE_SIGN_ON} aria-label={`${verb} with ${name}`} class="single-sign-on">
      <Hidden fields={fields} />
      <button type="submit">
        {verb} with <span class="name">{name}</span>
      </button>
    </form>
  );
}

export interface CredentialsProps {
  /** The address to which the forms are posted. */
  readonly action: string;
  readonly hidden: Readonly<Record<string, string>>;
  /** The address to open after a sign-in with a passkey. */
  readonly returnTo: string;
  readonly canSignUp: boolean;
  readonly singleSignOn?: SingleSignOnOption | undefined;
  /** Whether a forgotten password can be replaced by a link in a mail. */
  readonly canRecover: boolean;
  readonly failed?: RejectedSignIn | undefined;
  /** Whether the first field gets the focus when there is nothing to correct. */
  readonly isFocused: boolean;
}

/** The sign-in form, and below it, collapsed, the sign-up form; or the second step of a sign-in or sign-up. */
export function Credentials(props: CredentialsProps): VNode {
  const { action, hidden, returnTo, failed } = props;
  if (failed?.mustConfirmEmail)
    return (
      <CheckMail email={failed.values.email} csrfToken={hidden['csrf_token'] ?? ''} returnTo={returnTo} />
    );
  return (
    <div class="credentials">
      <Messages alert={failed?.alert} />
      {failed?.factor ? (
        <>
          <CodeStep {...{ action, hidden }} step={failed.factor} />
          <PasskeyButton returnTo={returnTo} />
        </>
      ) : (
        <Choices {...props} />
      )}
    </div>
  );
}

/** The button that leads to the provider, if there is one, and the other ways to sign in, unless it is the only one. */
function Choices({ singleSignOn, ...props }: CredentialsProps): VNode {
  if (!singleSignOn) return <Forms {...props} />;
  return (
    <>
      <SingleSignOnForm option={singleSignOn} hidden={props.hidden} />
      {!singleSignOn.isOnly && (
        <>
          <p class="hint or">or with your password</p>
          <Forms {...props} />
        </>
      )}
    </>
  );
}

type FormsProps = Omit<CredentialsProps, 'singleSignOn'>;

function Forms(props: FormsProps): VNode {
  const { action, hidden, returnTo, canSignUp, canRecover, failed, isFocused } = props;
  const signIn = failed?.intent === 'sign-in' ? failed : undefined;
  const signUp = failed?.intent === 'sign-up' ? failed : undefined;
  return (
    <>
      <form method="post" action={action} aria-label="Sign in" class="sign-in">
        <Hidden fields={{ ...hidden, intent: 'sign-in' }} />
        <Email id="sign-in-email" failed={signIn} isFocused={isFocused && !failed} />
        <Password id="sign-in-password" failed={signIn} />
        <button type="submit">Sign in</button>
        {canRecover && (
          <p>
            <a href="/account/forgot">Forgotten password?</a>
          </p>
        )}
      </form>
      <PasskeyButton returnTo={returnTo} />
      {canSignUp && (
        <details class="sign-up" open={signUp !== undefined}>
          <summary>
            <span class="when-closed">
              New here? <b>Sign up</b>
            </span>
            <span class="when-open">
              Have an account? <b>Sign in</b>
            </span>
          </summary>
          <form method="post" action={action} aria-label="Sign up">
            <Hidden fields={{ ...hidden, intent: 'sign-up' }} />
            <Field id="sign-up-name" label="Name" autocomplete="name" {...stateOf(signUp, 'name')} />
            <Email id="sign-up-email" failed={signUp} />
            <Password id="sign-up-password" failed={signUp} isNew />
            <button type="submit">Sign up</button>
          </form>
        </details>
      )}
    </>
  );
}

interface CredentialProps {
  readonly id: string;
  readonly failed: RejectedSignIn | undefined;
  readonly isFocused?: boolean;
}

function Email({ id, failed, isFocused }: CredentialProps): VNode {
  return (
    <Field
      id={id}
      label="Email address"
      type="email"
      autocomplete="username"
      {...stateOf(failed, 'email')}
      isFocused={isFocused || undefined}
    />
  );
}

function Password({ id, failed, isNew = false }: CredentialProps & { readonly isNew?: boolean }): VNode {
  const field = { id, name: 'password', label: 'Password', fault: failed?.faults.password };
  if (isNew) return <NewPasswordField {...field} />;
  return <Field {...field} type="password" autocomplete="current-password" />;
}

/** Shows the entered value again. */
const stateOf = (failed: RejectedSignIn | undefined, name: 'name' | 'email') => ({
  name,
  value: failed?.values[name],
  fault: failed?.faults[name],
});
