/** Light, dark, or as the system has it; kept for the next visit. */

const KEPT_AS = "turnkeeper.theme";

export const THEMES = /** @type {const} */ (["system", "light", "dark"]);

/** The theme that was chosen last. */
export function chosenTheme() {
  try {
    const kept = localStorage.getItem(KEPT_AS);
    return THEMES.includes(kept) ? kept : "system";
  } catch {
    return "system";
  }
}

/**
 * Show the page in a theme, and keep the choice.
 * @param {"system"|"light"|"dark"} theme
 */
export function showTheme(theme) {
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  try {
    localStorage.setItem(KEPT_AS, theme);
  } catch {
    // A browser that keeps nothing: the choice holds as long as the page is open.
  }
}
