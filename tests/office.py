"""Documents as people see them: LibreOffice turns them into PDF, and pages into pictures."""

import subprocess
from pathlib import Path


def pdf_of(document: Path, folder: Path) -> Path:
    """The document as a PDF in `folder`, made with a profile of its own so that runs do not wait for each other."""
    profile = (folder / "profile").as_uri()
    command = ["soffice", f"-env:UserInstallation={profile}", "--headless", "--convert-to", "pdf", "--outdir", str(folder)]
    subprocess.run([*command, str(document)], check=True, capture_output=True, timeout=120)
    return folder / f"{document.stem}.pdf"


def pages_of(pdf: Path, resolution: int = 60) -> list[Path]:
    """The pages as PNG files beside the PDF, in order; `resolution` is in dots per inch."""
    subprocess.run(["pdftoppm", "-r", str(resolution), "-png", str(pdf), str(pdf.with_suffix(""))], check=True, timeout=60)
    return sorted(pdf.parent.glob(f"{pdf.stem}-*.png"))


def text_of(pdf: Path) -> str:
    """All text of the PDF with blanks left out: where lines break differs from font to font."""
    from pypdf import PdfReader

    return "".join("".join(page.extract_text() for page in PdfReader(pdf).pages).split())
