/** @jsxImportSource #jsx */
"use client";

import { Button } from "../ui/button.tsx";
import { CodeBlock } from "../ui/copy.tsx";
import { Modal } from "../ui/dialog.tsx";

/** Shows a webhook's secret for the only time. */
export function SigningSecret({
  name,
  secret,
  onClose,
}: {
  name: string;
  secret: string;
  onClose: () => void;
}) {
  return (
    <Modal
      open
      onOpenChange={(open) => !open && onClose()}
      title={`Copy the signing secret of “${name}” now`}
      description="It is not shown again. The receiver verifies requests with it."
    >
      <CodeBlock code={secret} label="The signing secret" testid="secret" wrap />
      <div className="mt-4 text-right">
        <Button look="primary" onClick={onClose}>
          Done
        </Button>
      </div>
    </Modal>
  );
}
