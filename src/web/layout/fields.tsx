import type { InputHTMLAttributes, VNode } from 'preact';

interface FieldProps {
  readonly id: string;
  readonly name: string;
  readonly label: string;
  readonly type: 'text' | 'email' | 'password';
  readonly autocomplete: string;
  readonly value?: string;
  readonly hint?: string;
  /** What is wrong with the entered value. */
  readonly fault?: string | undefined;
  readonly minLength?: number | undefined;
  readonly inputMode?: 'numeric';
  readonly isFocused?: boolean;
  /** Defaults to true. */
  readonly isRequired?: boolean;
}

/** A text field with its label; screen readers read its fault and its hint with it. */
export function Field(props: FieldProps): VNode {
  const { id, label, hint, fault, isFocused, isRequired = true, value, ...input } = props;
  const described = [fault && `${id}-fault`, hint && `${id}-hint`].filter(Boolean).join(' ');
  const attributes = input as InputHTMLAttributes; // a union whose members each allow one `type`
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        {...attributes}
        id={id}
        value={value ?? ''}
        required={isRequired}
        spellcheck={false}
        autocapitalize={input.type === 'text' ? 'words' : 'none'}
        aria-invalid={fault ? 'true' : undefined}
        aria-describedby={described || undefined}
        autofocus={isFocused === true}
      />
      {fault && (
        <p class="fault" id={`${id}-fault`}>
          {fault}
        </p>
      )}
      {hint && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  );
}

interface SelectFieldProps {
  readonly id: string;
  readonly name: string;
  readonly label: string;
  readonly options: readonly { readonly value: string; readonly text: string }[];
  readonly value: string;
  readonly fault?: string | undefined;
}

/** A drop-down list. */
export function SelectField({ id, name, label, options, value, fault }: SelectFieldProps): VNode {
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select
        {...{ id, name }}
        aria-invalid={fault ? 'true' : undefined}
        aria-describedby={fault && `${id}-fault`}
      >
        {options.map((option) => (
          <option key={option.value} value={option.value} selected={option.value === value}>
            {option.text}
          </option>
        ))}
      </select>
      {fault && (
        <p class="fault" id={`${id}-fault`}>
          {fault}
        </p>
      )}
    </div>
  );
}

interface CopyFieldProps {
  readonly id: string;
  readonly value: string;
  /** The id of the field's hint. */
  readonly describedBy?: string;
}

/** A text to copy. The script shows the button, and the message below it if the browser refuses to copy. */
export function CopyField({ id, value, describedBy }: CopyFieldProps): VNode {
  return (
    <>
      <div class="copy">
        <input id={id} class="code" value={value} readonly aria-describedby={describedBy} />
        <button type="button" class="quiet" data-copy={id} hidden>
          Copy
        </button>
      </div>
      <p class="fault" id={`${id}-fault`} role="alert" hidden>
        Your browser could not copy the text. It is selected: copy it yourself.
      </p>
    </>
  );
}

/** The hidden fields of a form. */
export function Hidden({ fields }: { readonly fields: Readonly<Record<string, string>> }): VNode {
  return (
    <>
      {Object.entries(fields).map(([name, value]) => (
        <input type="hidden" key={name} name={name} value={value} />
      ))}
    </>
  );
}
