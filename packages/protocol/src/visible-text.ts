/**
 * Characters that nobody sees and that change what others see: they turn the direction of what follows, or hide in it. Joiners
 * and variation selectors stay, because emoji and several scripts need them.
 */
const HIDDEN =
  /(?![\n\r\t]|\u200c|\u200d|[\ufe00-\ufe0f\u180b-\u180f]|[\u{e0100}-\u{e01ef}])[\p{Cc}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}\ufff9-\ufffb]/gu;

/**
 * Shows hidden characters as escapes, so that a name looks like what it is.
 * @example
 * visibleText("report\u202efdp.exe"); // "report\\u202efdp.exe"
 */
export function visibleText(text: string): string {
  return text.replace(HIDDEN, (character) => {
    const code = character.codePointAt(0)!.toString(16);
    return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, "0")}`;
  });
}
