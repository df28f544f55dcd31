import type { VNode } from 'preact';
import { PASSWORD_LENGTH } from '../../domain/auth/index.js';
import { Field } from './fields.js';

interface NewPasswordFieldProps {
  readonly id: string;
  readonly name: string;
  readonly label: string;
  readonly fault?: string | undefined;
  readonly isFocused?: boolean;
}

/** A field for a password that is chosen, with the policy as its hint. */
export function NewPasswordField(props: NewPasswordFieldProps): VNode {
  const { min } = PASSWORD_LENGTH;
  return (
    <Field
      {...props}
      type="password"
      autocomplete="new-password"
      hint={`At least ${min} characters, and not a common password.`}
      minLength={min}
    />
  );
}

/** The choice to end the access tokens together with the old password. */
export function RevokeTokensChoice({ isChosen = false }: { readonly isChosen?: boolean }): VNode {
  return (
    <label class="choice">
      <input type="checkbox" name="revoke_tokens" value="yes" checked={isChosen} />
      <span>
        Also revoke all access tokens <span class="hint">if somebody else may have used your account</span>
      </span>
    </label>
  );
}
