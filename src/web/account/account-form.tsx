import type { ComponentProps, VNode } from 'preact';
import type { BrowserSession } from '../../domain/auth/index.js';
import {
  ConfirmField,
  type ConfirmFieldProps,
  type Faults,
  type Form,
  Hidden,
  Messages,
  PostForm,
  type SingleSignOnOption,
} from '../layout/index.js';
import type { Overview } from './account-overview.js';
import type { ActivityPage } from './activity.js';

/** A form that was not accepted. It is shown again with what was entered, except passwords. */
export interface RejectedForm {
  /** The address to which it was posted. */
  readonly action: string;
  readonly entered: Form;
  readonly faults: Faults;
  /** A fault that concerns none of the fields. */
  readonly alert?: string | undefined;
}

/** Messages shown once, on the page that answers a form. */
export interface FlashMessages {
  readonly alert?: string | undefined;
  /** The message after a completed action. */
  readonly notice?: string | undefined;
  readonly rejected?: RejectedForm;
  readonly minted?: { readonly name: string; readonly raw: string };
}

/** The properties of every section of the account page. */
export interface AccountPageProps extends FlashMessages {
  readonly host: string;
  readonly csrfToken: string;
  readonly session: BrowserSession;
  /** Whether forms that need a recent sign-in must ask for the password. */
  readonly needsConfirmation: boolean;
  readonly overview: Overview;
  readonly activity: ActivityPage;
  /** Whether the service can send mail. */
  readonly canChangeEmail: boolean;
  readonly hasBilling: boolean;
  /** Whether accounts can have a password. */
  readonly hasPasswords: boolean;
  readonly singleSignOn: SingleSignOnOption | undefined;
}

/** A form of the account page, for its parts. */
interface PageForm extends Pick<AccountPageProps, 'csrfToken' | 'needsConfirmation'> {
  readonly action: string;
  /** The form if it was not accepted. */
  readonly failed: RejectedForm | undefined;
}

/** @param id of the item on which the form acts, where the page has one for each item */
export function formAt(props: AccountPageProps, action: string, id?: string): PageForm {
  const { csrfToken, needsConfirmation, rejected } = props;
  const isOfItem = id === undefined || rejected?.entered.text('id').toLowerCase() === id;
  const failed = rejected?.action === action && isOfItem ? rejected : undefined;
  return { action, csrfToken, needsConfirmation, failed };
}

/** The properties of a field that has its value again. Not for passwords. */
export const enteredIn = (
  { failed }: PageForm,
  name: string,
  initial = '',
): { name: string; value: string; fault: string | undefined } => ({
  name,
  value: failed?.entered.text(name) ?? initial,
  fault: failed?.faults[name],
});

interface FoldedFormProps extends Omit<ComponentProps<typeof PostForm>, 'label'> {
  readonly summary: string;
  /** The name of the item on which the form acts, for screen readers. */
  readonly of?: string;
  /** Defaults to the summary. */
  readonly label?: string;
  readonly failed?: RejectedForm | undefined;
}

/** A form that is folded up unless it was not accepted. */
export function FoldedForm({ summary, of, label = summary, failed, ...form }: FoldedFormProps): VNode {
  const full = of && `${summary} ${of}`;
  return (
    <details open={failed !== undefined}>
      <summary aria-label={full}>{summary}</summary>
      <Messages alert={failed?.alert} />
      <PostForm {...form} label={full ?? label} />
    </details>
  );
}

type ConfirmationProps = Omit<ConfirmFieldProps, 'fault'> & Pick<PageForm, 'needsConfirmation' | 'failed'>;

/** Asks for the password, unless the user has signed in recently. */
export function Confirmation({ needsConfirmation, failed, ...field }: ConfirmationProps): VNode | null {
  return needsConfirmation ? <ConfirmField {...field} fault={failed?.faults.confirm_password} /> : null;
}

interface ActionButtonProps {
  readonly action: string;
  readonly csrfToken: string;
  /** The id of the item on which the button acts. */
  readonly id?: string;
  readonly text: string;
  /** The text for screen readers, if the button's own does not name the item. */
  readonly label?: string;
  readonly isQuiet?: boolean;
}

/** A form that consists of a button. */
export function ActionButton(props: ActionButtonProps): VNode {
  const { action, csrfToken, id, text, label, isQuiet = true } = props;
  return (
    <form method="post" action={action} class="action">
      <Hidden fields={{ csrf_token: csrfToken, ...(id === undefined ? {} : { id }) }} />
      <button type="submit" class={isQuiet ? 'quiet' : undefined} aria-label={label}>
        {text}
      </button>
    </form>
  );
}

/** Says that a list ends at its limit. */
export function Truncated({ shown, most }: { readonly shown: number; readonly most: number }): VNode | null {
  return shown === most ? <p class="hint">Showing the newest {most}. There may be more.</p> : null;
}
